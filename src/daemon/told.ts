import type { Journal } from '../ports/journal.js';
import type { Store } from '../store/store.js';
import type { Names } from '../tree/tree.js';
import type { View } from '../tree/view.js';
import type { Mounted } from './server.js';

/**
 * How far in the feed each kernel was told of everything, for a process that takes its mount over. Whatever is announced
 * is announced before the answer that it belongs to: a kernel that takes nothing just now was told of all that was seen.
 */
export function noteTold(mounts: Iterable<Mounted>, journal: Journal, seen: number): void {
  for (const mounted of mounts) {
    if (mounted.told === seen || mounted.cache.isTelling) continue;
    mounted.told = seen;
    journal.note(keyOf(mounted.request.mount), () => mounted.told);
  }
}

/**
 * Names that memory has left since the kernel of a mount was last told of everything; undefined when nobody knows. What
 * came by requests of its own that wait for an answer it will know by that.
 */
export function untold({ mount, tree }: View, journal: Journal, { feed, requests }: Store): Names | undefined {
  const told = journal.get(keyOf(mount));
  const vacated = typeof told === 'number' ? feed.vacatedSince(told) : undefined;
  const own = requests.movedEarlier(mount);
  const times = new Map<number, number>();
  for (const { node } of vacated ?? []) times.set(node, (times.get(node) ?? 0) + 1);
  return vacated?.flatMap(({ node, parent, name }) => {
    const directory = tree.nodes.get(parent);
    if (directory?.kind !== 'directory' || (own.has(node) && times.get(node) === 1)) return [];
    return [{ parent: directory, name }];
  });
}

export function forgetTold(mount: number, journal: Journal): void {
  journal.note(keyOf(mount), undefined);
}

const keyOf = (mount: number): string => `s/${mount}`;
