import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError } from '../../errors.js';
import { storableTime } from '../../ports/clock.js';
import { fileTime } from '../file-time.js';

/** Folders of a home with conversations: those in use, and those that were archived. */
const HELD = 'sessions';
const ARCHIVED = 'archived_sessions';

const NAME = /^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl(\.zst)?$/;
/** `sessions/YYYY/MM/DD`. */
const DEPTH = 3;

/** The file of a conversation in a home. */
export interface ConversationFile {
  readonly thread: string;
  /** Path in the home. */
  readonly place: string;
  readonly size: number;
  /** µs since the epoch. */
  readonly mtime: number;
  /** When anything about the file changed last, as nobody but the kernel sets it: µs since the epoch. */
  readonly changed: number;
  readonly archived: boolean;
  /** Codex has compressed it, as it was not held on with for long: it is there, and cannot be read. */
  readonly compressed: boolean;
}

/** The conversations of a home, newest first. No link is followed. */
export function conversationFiles(home: string): ConversationFile[] {
  const found: ConversationFile[] = [];
  const visit = (place: string, depth: number): void => {
    for (const entry of entriesOf(join(home, place))) {
      const path = `${place}/${entry.name}`;
      if (entry.isDirectory() && depth > 0) visit(path, depth - 1);
      const [, thread, end] = NAME.exec(entry.name) ?? [];
      if (thread === undefined || !entry.isFile()) continue;
      const stat = lstatSync(join(home, path), { bigint: true, throwIfNoEntry: false });
      if (!stat) continue;
      const mtime = storableTime(Number(stat.mtimeNs / 1000n));
      const kind = { archived: place.startsWith(ARCHIVED), compressed: end !== undefined };
      const changed = Number(stat.ctimeNs / 1000n);
      found.push({ thread, place: path, size: Number(stat.size), mtime, changed, ...kind });
    }
  };
  for (const folder of [HELD, ARCHIVED]) visit(folder, DEPTH);
  const plain = new Set(found.filter(({ compressed }) => !compressed).map(({ thread }) => thread));
  const distinct = found.filter(({ thread, compressed }) => !(compressed && plain.has(thread)));
  return distinct.sort((one, other) => other.mtime - one.mtime || (one.thread < other.thread ? -1 : 1));
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

/** The whole lines of a conversation that may be written at this moment; undefined when it is gone. */
export function readLines(home: string, { place }: Pick<ConversationFile, 'place'>): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(join(home, place), constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ELOOP')) return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(fstatSync(fd).size);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count)
      count = readSync(fd, bytes, length, bytes.length - length, length);
    const whole = bytes.subarray(0, length);
    return whole.subarray(0, whole.lastIndexOf('\n') + 1);
  } finally {
    closeSync(fd);
  }
}

/** Puts the file of a conversation into a home, whole or not at all. @param mtime µs since the epoch */
export function placeFile(home: string, place: string, bytes: Buffer | string, mtime: number): void {
  const file = join(home, place);
  if (!file.startsWith(`${join(home, HELD)}/`)) throw new Error('the file of a conversation lies elsewhere');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = join(dirname(file), `.mend.tmp.${process.pid}.${randomBytes(6).toString('hex')}`);
  try {
    writeFileSync(fresh, bytes, { mode: 0o600, flag: 'wx' });
    utimesSync(fresh, fileTime(mtime), fileTime(mtime));
    renameSync(fresh, file);
  } finally {
    rmSync(fresh, { force: true });
  }
}
