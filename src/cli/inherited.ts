import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isSystemError } from '../errors.js';
import type { HarnessEnvironment } from '../harness/adapter.js';

let held: readonly number[] | undefined;

/** Notes which descriptors whoever started this process left open in it; called before it opens any of its own. */
export function noteDescriptors(): void {
  held = descriptorsNow();
}

/** The descriptors from 3 on that this process was started with. */
export function inheritedDescriptors(): readonly number[] {
  return held ?? [];
}

/**
 * All that are open but those of Node.js itself: its first is an epoll, so what lies below was there before. Behind that it has
 * other nameless files, pipes of which both ends are here, and a spare descriptor on /dev/null.
 */
function descriptorsNow(): number[] {
  const open = readdirSync('/proc/self/fd').flatMap((name) => {
    const target = targetOf(name);
    return target === undefined || Number(name) < 3 ? [] : [{ fd: Number(name), target }];
  });
  const first = Math.min(...open.flatMap(({ fd, target }) => (target === 'anon_inode:[eventpoll]' ? [fd] : [])));
  const isOwn = ({ fd, target }: { fd: number; target: string }): boolean =>
    fd >= first &&
    (target.startsWith('anon_inode:') ||
      target === '/dev/null' ||
      (target.startsWith('pipe:') && open.some((other) => other.fd !== fd && other.target === target)));
  return open.filter((one) => !isOwn(one)).map(({ fd }) => fd);
}

/** Undefined for the one with which the list was read. */
function targetOf(name: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${name}`);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Arguments for a program byte by byte, which Node.js has as text alone.
 * @param given the last arguments of this process
 * @param args what the program gets: all of those in their order, and others
 */
export function rawArguments(given: readonly string[], args: readonly string[]): Buffer[] {
  const all = rawStrings('/proc/self/cmdline');
  const own = all.slice(all.length - given.length);
  let last = given.length - 1;
  return args
    .toReversed()
    .map((text) => {
      const raw = last >= 0 && text === given[last] ? own[last--] : undefined;
      return raw ?? Buffer.from(text);
    })
    .toReversed();
}

/** The environment of this process byte by byte, as `name=value`, with changes (undefined: not there). */
export function rawEnvironment(changes: HarnessEnvironment): Buffer[] {
  const kept = rawStrings('/proc/self/environ').filter((entry) => !(nameIn(entry) in changes));
  const added = Object.entries(changes).flatMap(([name, value]) =>
    value === undefined ? [] : [Buffer.from(`${name}=${value}`)],
  );
  return [...kept, ...added];
}

function nameIn(entry: Buffer): string {
  return entry.toString().split('=', 1)[0] ?? '';
}

/** Texts of a file in which each ends with NUL. */
function rawStrings(file: string): Buffer[] {
  const bytes = readFileSync(file);
  const texts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0, at);
    texts.push(bytes.subarray(at, end < 0 ? bytes.length : end));
    at = end < 0 ? bytes.length : end + 1;
  }
  return texts;
}
