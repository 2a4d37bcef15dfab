import type { Session } from '../session/session.js';
import { type Decision, decide, Unmerged } from './merging.js';
import type { DirectoryNode, FileNode, TreeNode } from './node.js';
import { touch } from './opening.js';
import type { Told } from './saving.js';
import type { View } from './view.js';

/** Everything a rename is about, once it was found to be allowed. */
export interface Move {
  readonly node: TreeNode;
  readonly from: DirectoryNode;
  readonly to: DirectoryNode;
  readonly name: string;
  readonly target: TreeNode | undefined;
  readonly session: Session;
  /** The process that renames. */
  readonly pid: number;
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
  view.tree.note(node);
  node.ctime = now;
  touch(view.tree, from, now);
  touch(view.tree, to, now);
}

/**
 * The source's own time when nobody can take it for an old one of the target, else a later one.
 * @param merged whether the new content is not what anybody was shown under the source's time
 */
export function timeAfter(node: FileNode, target: FileNode | undefined, now: number, merged = false): number {
  const shown = target?.shown ?? 0;
  if (merged) return node.nextTime(now, Math.max(shown, node.mtime));
  return Math.floor(node.mtime / 1000) > Math.floor(shown / 1000) ? node.mtime : node.nextTime(now, shown);
}

/** What becomes of a text that is put in the place of a file; without `bytes` the text itself is the new head. */
export interface Met {
  readonly decision: Decision;
  /** The merged text. */
  readonly bytes: Buffer | undefined;
}

/**
 * Decides how the text of a source meets the file whose place it takes (spec §4.6).
 * @throws {Unmerged} when the merge takes long
 */
export function meet(
  view: View,
  target: FileNode | undefined,
  source: FileNode,
  path: string,
  move: Move,
  text: () => Buffer,
): Met {
  const { session, pid } = move;
  const begun = source.made || view.tree.services.clock();
  // A local file holds nothing of the quota yet; the source's own size is freed with its name.
  const claimed = source.isLocal ? 0 : source.size;
  const known = view.tree.services.knowledge.of(session.key, view.tree.id, path);
  const saving = { path, session, pid, known, begun, text, madeFrom: undefined, claimed, began: undefined };
  const decision = decide(view, target, saving);
  return { decision, bytes: decision.kind === 'merged' ? decision.bytes : undefined };
}

/** Runs what may need a long merge once something was announced already: who waits for the merge waits for that, too. */
export function afterTold<T>(told: Told, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Unmerged) || !told) throw error;
    throw new Unmerged(Promise.all([error.ready, told]).then(() => undefined));
  }
}
