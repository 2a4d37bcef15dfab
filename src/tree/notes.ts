import type { Journal } from '../ports/journal.js';
import type { Known } from '../session/knowledge.js';
import type { Session } from '../session/session.js';
import type { Draft } from './draft.js';
import type { Handle } from './handles.js';
import type { DirectoryNode, FileNode, TreeNode } from './node.js';
import type { Unseen } from './unseen.js';
import type { View } from './view.js';

/** What is noted of an open file for a process that takes the mount over. */
export interface HandleNote {
  readonly kind: Handle['kind'];
  readonly opening: number;
  readonly node: number;
  /** Number under which the session was noted. */
  readonly session: number;
  readonly pid?: number;
  /** What it reads, or shows while its draft is clean. */
  readonly content?: number | null;
  readonly draft?: number;
  readonly writers?: readonly number[];
  readonly opener?: number;
  readonly readTo?: number;
  readonly finished?: boolean;
  readonly closed?: boolean;
  readonly writable?: boolean;
  readonly wrote?: boolean;
}

export function handleNote(handle: Handle, journal: Journal): HandleNote {
  const { kind, opening } = handle;
  const node = handle.node.id;
  const session = sessionNumber(journal, handle.session);
  if (handle.kind === 'read') {
    const { pid, content, finished, readTo } = handle;
    if (readTo === 0) return { kind, opening, node, session, pid, content };
    return { kind, opening, node, session, pid, content, finished, readTo };
  }
  const common = { kind, opening, node, session };
  if (handle.kind === 'local') {
    const { pid, writable, wrote } = handle;
    return { ...common, pid, writable, wrote };
  }
  const { snapshot, draft, writers, opener, readTo, closed } = handle;
  const own = { content: snapshot, draft: draft.id, writers: [...writers], readTo, closed };
  return { ...common, ...own, ...(opener === undefined ? {} : { opener }) };
}

/** Sessions that a journal has numbers for at most, but for those of open files. */
const NUMBERED = 1000;

interface Numbers {
  next: number;
  most: number;
  /** By the key of the session. */
  readonly known: Map<string, number>;
}

const numbersOf = new WeakMap<Journal, Numbers>();

/** The number of a session in a journal, under which it is noted once. */
function sessionNumber(journal: Journal, session: Session): number {
  let numbers = numbersOf.get(journal);
  if (!numbers) {
    const left = [...journal.left('i/')].map(([number, value]) => [(value as Session).key, Number(number)] as const);
    numbers = { next: 1 + Math.max(0, ...left.map(([, number]) => number)), most: NUMBERED, known: new Map(left) };
    numbersOf.set(journal, numbers);
  }
  const known = numbers.known.get(session.key);
  if (known !== undefined) return known;
  if (numbers.known.size >= numbers.most) forgetUnused(journal, numbers);
  const number = numbers.next++;
  numbers.known.set(session.key, number);
  journal.note(`i/${number}`, () => session);
  return number;
}

/** Forgets the numbers that no open file is noted with. */
function forgetUnused(journal: Journal, numbers: Numbers): void {
  const used = new Set([...journal.left('h/').values()].map((note) => (note as HandleNote).session));
  for (const [key, number] of numbers.known) {
    if (used.has(number)) continue;
    numbers.known.delete(key);
    journal.note(`i/${number}`, undefined);
  }
  numbers.most = Math.max(NUMBERED, 2 * numbers.known.size);
}

/** The session that was noted under a number. */
export function numberedSession(journal: Journal, number: number): Session {
  return (journal.get(`i/${number}`) as Session | undefined) ?? { key: 'unknown', name: 'unknown' };
}

/** What is noted of a draft beside its rows in the store. Times are µs since the epoch. */
export interface DraftNote {
  readonly node: number;
  readonly session: Session;
  /** It has no rows: the file was created, and nothing written yet. */
  readonly unstored: boolean;
  readonly begun: number;
  readonly mtime: number;
  readonly timeSet: boolean;
  readonly known?: Known;
  readonly writer: number;
  /** How much of its base was in it when its writes were last put together into one row. */
  readonly folded?: { readonly covered: number; readonly left: number };
}

export function noteDraft(view: View, draft: Draft): void {
  const { journal } = view.tree.services;
  journal.note(`d/${draft.id}`, draft.dirty ? () => draftNote(draft) : undefined);
}

function draftNote(draft: Draft): DraftNote {
  const { node, session, stored, begun, mtime, timeSet, known, writer, folded } = draft;
  const own = { node: node.id, session, unstored: !stored, begun, mtime, timeSet, writer };
  return { ...own, ...(known ? { known } : {}), ...(folded ? { folded } : {}) };
}

/** What is noted of a file that the store does not tell. */
export interface FileNote {
  readonly made: number;
  readonly born: number;
  readonly savedBy?: string;
  readonly refused?: readonly (readonly [session: string, head: number | null])[];
  readonly hidden?: Unseen;
  readonly removedBy?: string | null;
  readonly removedFrom?: string;
  readonly replacedBy?: number;
}

export function fileNote(node: FileNode): FileNote {
  const { made, born, savedBy, refused, hidden, removedBy, removedFrom, replacedBy } = node;
  return {
    ...{ made, born },
    ...(savedBy === undefined ? {} : { savedBy }),
    ...(refused ? { refused: [...refused] } : {}),
    ...(hidden ? { hidden } : {}),
    ...(removedBy === undefined ? {} : { removedBy, removedFrom }),
    ...(replacedBy ? { replacedBy: replacedBy.id } : {}),
  };
}

/** Key of the number up to which handles of a mount may have been given out. */
export const givenKey = (mount: number): string => `n/${mount}`;

/** Key that says of a request that it was done and waits for its answer. */
export const doneKey = (mount: number, unique: number): string => `q/${mount}/${unique}`;

/** The times of a folder that the store gets to know later. */
export function directoryNote({ mtime, ctime }: DirectoryNode): Pick<DirectoryNode, 'mtime' | 'ctime'> {
  return { mtime, ctime };
}

/** Key of what is noted of a node: what a file is beside its row, or a folder's times. */
export function nodeKey(node: TreeNode): string {
  return node.kind === 'file' ? `f/${node.id}` : `t/${node.id}`;
}
