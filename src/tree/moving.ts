import type { Session } from '../session/session.js';
import type { DirectoryNode, FileNode, TreeNode } from './node.js';
import { touch } from './opening.js';
import type { View } from './view.js';

/** Everything a rename is about, once it was found to be allowed. */
export interface Move {
  readonly node: TreeNode;
  readonly from: DirectoryNode;
  readonly to: DirectoryNode;
  readonly name: string;
  readonly target: TreeNode | undefined;
  readonly session: Session;
}

/** Moves a node in memory. */
export function relink(
  view: View,
  node: TreeNode,
  from: DirectoryNode,
  to: DirectoryNode,
  name: string,
  now: number,
): void {
  const { lookups } = node;
  node.lookups = 1;
  view.detach(node, null);
  if (node.kind === 'file') node.removedBy = undefined;
  node.lookups = lookups;
  view.adopt(node, to, name);
  node.ctime = now;
  touch(from, now);
  touch(to, now);
}

/** The source's own time when nobody can take it for an old one of the target, else a later one. */
export function timeAfter(node: FileNode, target: FileNode | undefined, now: number): number {
  const shown = target?.shown ?? 0;
  return Math.floor(node.mtime / 1000) > Math.floor(shown / 1000) ? node.mtime : node.nextTime(now, shown);
}
