import { AT_ONCE } from '../session/knowledge.js';
import type { Session } from '../session/session.js';
import type { FileNode } from './node.js';
import type { Caller, View } from './view.js';

/**
 * A newest content that somebody took out of the way without knowing it: another session had saved it. Some programs
 * remove a file, or put it aside, to make it anew; what they make soon after is merged with it.
 */
export interface Unseen {
  /** Who did: a process, or the key of a session. */
  readonly by: number | string;
  /** The content that it knew. */
  readonly known: number | null;
  readonly head: number;
  /** How long this holds, in µs since the epoch. */
  readonly until: number;
}

/** Programs that remove a file and then create it with O_EXCL, and fail when it is still there. */
const REMAKERS = new Set(['git', 'mv', 'cp', 'install', 'tar', 'bsdtar', 'unzip', 'rsync']);

/** Whether a process is likely to make anew what it has removed, and so has to see it gone. */
export function makesAnew(view: View, pid: number): boolean {
  const executable = view.tree.services.processes.executable(pid) ?? '';
  return REMAKERS.has(executable.slice(executable.lastIndexOf('/') + 1));
}

/** What a session that takes a file away does not know of it; undefined when it knows the newest content, or never looked. */
export function unseenHead(view: View, node: FileNode, session: Session, path: string): Unseen | undefined {
  const { knowledge, clock } = view.tree.services;
  const known = knowledge.latest(session.key, view.tree.id, path);
  const { content } = node;
  if (known === undefined || content === null || known === content || node.savedBy === session.key) return undefined;
  if ((known === null && node.size === 0) || node.refused?.get(session.key) === content) return undefined;
  return { by: session.key, known, head: content, until: clock() + AT_ONCE };
}

/** Whether a process has just removed a file in vain, and goes on as if it was gone. */
export function isHidden(view: View, node: FileNode, caller: Caller): boolean {
  if (!node.hidden) return false;
  if (holds(view, node.hidden) && node.content === node.hidden.head) return node.hidden.by === view.caller(caller).pid;
  node.hidden = undefined;
  return false;
}

/** Remembers what was put aside under another name. */
export function putAside(view: View, path: string, unseen: Unseen): void {
  const { setAside } = view.tree;
  const { journal } = view.tree.services;
  const key = (of: string) => `a/${view.tree.id}/${of}`;
  for (const [other, old] of setAside) {
    if (holds(view, old)) continue;
    setAside.delete(other);
    journal.note(key(other), undefined);
  }
  setAside.set(path, unseen);
  journal.note(key(path), () => unseen);
}

/** What a save of a path by a process of a session has to be merged with, though it is not what the session replaces. */
export function unseenBy(view: View, node: FileNode | undefined, path: string, by: { session: Session; pid: number }) {
  const hidden = node?.hidden;
  if (hidden && hidden.by === by.pid && holds(view, hidden)) return hidden;
  const aside = view.tree.setAside.get(path);
  if (!aside || aside.by !== by.session.key || !holds(view, aside)) return undefined;
  return (node?.content ?? null) === null ? aside : undefined;
}

function holds(view: View, unseen: Unseen): boolean {
  return view.tree.services.clock() <= unseen.until;
}
