import type { Journal } from '../ports/journal.js';
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

/** Whether the kernel of a mount had been told of everything, up to the newest number of the feed. */
export function wasToldOfAll(mount: number, journal: Journal, newest: number): boolean {
  return journal.get(keyOf(mount)) === newest;
}

export function forgetTold(mount: number, journal: Journal): void {
  journal.note(keyOf(mount), undefined);
}

const keyOf = (mount: number): string => `s/${mount}`;
