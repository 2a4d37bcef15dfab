import { type ExportFile, FILE_MODE, FOLDER_MODE, foldersOf } from './export-files.js';

const BLOCK = 512;
/** Archives are whole records of this many bytes. */
const RECORD = 20 * BLOCK;
/** Bytes of a name in a plain header. */
const NAME_MAX = 100;
/** Largest owner in a plain header. */
const OWNER_MAX = 0o7777777;

/** Who owns the files of an archive, when root unpacks it. */
export interface TarOwner {
  readonly uid: number;
  readonly gid: number;
}

interface TarEntry {
  readonly name: string;
  readonly type: '0' | '5';
  readonly mode: number;
  readonly size: number;
  readonly mtime: number;
}

/**
 * A tar archive of files, in parts; the same files give the same bytes. It is in the format of POSIX.1-2001 (`pax`),
 * which has room for names of any length and form and for times to the microsecond.
 */
export function* tarArchive(files: readonly ExportFile[], owner: TarOwner): Iterable<Buffer> {
  let length = 0;
  for (const part of entries(files, owner)) {
    length += part.length;
    yield part;
  }
  // Two empty blocks end an archive.
  const end = length + 2 * BLOCK;
  yield Buffer.alloc(2 * BLOCK + padding(end, RECORD));
}

function* entries(files: readonly ExportFile[], owner: TarOwner): Iterable<Buffer> {
  for (const [folder, mtime] of foldersOf(files))
    yield* headers({ name: `${folder}/`, type: '5', mode: FOLDER_MODE, size: 0, mtime }, owner);
  for (const { path, bytes, mtime } of files) {
    yield* headers({ name: path, type: '0', mode: FILE_MODE, size: bytes.length, mtime }, owner);
    yield bytes;
    yield Buffer.alloc(padding(bytes.length, BLOCK));
  }
}

/** The header of an entry, with one before it for what it has no room for. */
function* headers(entry: TarEntry, owner: TarOwner): Iterable<Buffer> {
  const records = Buffer.from(extended(entry, owner));
  if (records.length > 0) {
    const about = { name: 'PaxHeaders/entry', type: 'x', mode: FILE_MODE, size: records.length, mtime: 0 } as const;
    yield header(about, { uid: 0, gid: 0 });
    yield records;
    yield Buffer.alloc(padding(records.length, BLOCK));
  }
  yield header(entry, owner);
}

function extended({ name, mtime }: TarEntry, { uid, gid }: TarOwner): string {
  const plain = /^[ -~]+$/.test(name) && name.length <= NAME_MAX;
  return [
    ...(plain ? [] : [record('path', name)]),
    ...(mtime >= 0 && mtime % 1e6 === 0 ? [] : [record('mtime', decimal(mtime))]),
    ...(uid > OWNER_MAX ? [record('uid', String(uid))] : []),
    ...(gid > OWNER_MAX ? [record('gid', String(gid))] : []),
  ].join('');
}

/** A record says first how long it is, those digits included. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  if (String(length).length > String(bytes).length) length = bytes + String(length).length;
  return `${length}${rest}`;
}

/** µs as seconds with six digits behind the point. */
function decimal(micros: number): string {
  const size = Math.abs(micros);
  const rest = String(size % 1e6).padStart(6, '0');
  return `${micros < 0 ? '-' : ''}${Math.floor(size / 1e6)}.${rest}`;
}

function header(
  { name, type, mode, size, mtime }: TarEntry | (Omit<TarEntry, 'type'> & { type: 'x' }),
  owner: TarOwner,
): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void => {
    block.write(value.toString(8).padStart(length - 1, '0'), at, length - 1, 'latin1');
  };
  Buffer.from(name).copy(block, 0, 0, NAME_MAX);
  octal(mode, 100, 8);
  octal(Math.min(owner.uid, OWNER_MAX), 108, 8);
  octal(Math.min(owner.gid, OWNER_MAX), 116, 8);
  octal(size, 124, 12);
  octal(Math.max(0, Math.floor(mtime / 1e6)), 136, 12);
  block.write('        ', 148, 'latin1');
  block.write(`${type}`, 156, 'latin1');
  block.write('ustar\0' + '00', 257, 'latin1');
  octal(0, 329, 8);
  octal(0, 337, 8);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

function padding(length: number, unit: number): number {
  return (unit - (length % unit)) % unit;
}
