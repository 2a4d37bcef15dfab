import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/** What the recorder saw one call do. Paths are absolute; `inode` tells files apart while they exist. */
export interface Entry {
  readonly op: Op;
  readonly path: string;
  /** Second path of a rename or link. */
  readonly other: string;
  readonly pid: number;
  readonly inode: number;
  /** Of a write: where it begins. Of a size: the new one. Of a sync: the descriptor. */
  readonly offset: number;
  /** Of a write: how many bytes. Of a sync: 1 when it is of data only, as fdatasync(2) has it. */
  readonly length: number;
  /** What was written; undefined for zeros. */
  readonly data: Buffer | undefined;
}

const OPS = {
  c: 'create',
  w: 'write',
  z: 'zeros',
  s: 'size',
  b: 'sync begins',
  e: 'sync ends',
  f: 'sync fails',
  r: 'rename',
  u: 'unlink',
  l: 'link',
  m: 'mkdir',
  d: 'rmdir',
  x: 'write fails',
  '?': 'unknown',
} as const;
export type Op = (typeof OPS)[keyof typeof OPS];

/** Bytes of an entry before its paths and data; see `struct entry` in recorder.c. */
const HEAD = 48;

/** The entries of a record, in order. */
export function readRecord(file: string): Entry[] {
  return new RecordReader(file).read();
}

/** Reads a record that goes on. */
export class RecordReader {
  readonly #file: string;
  #offset = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** The entries since the last time. */
  read(): Entry[] {
    const fd = openSync(this.#file, 'r');
    try {
      const bytes = Buffer.alloc(fstatSync(fd).size - this.#offset);
      const entries = parse(bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, this.#offset)));
      this.#offset += entries.used;
      return entries.list;
    } finally {
      closeSync(fd);
    }
  }
}

function parse(bytes: Buffer): { list: Entry[]; used: number } {
  const entries: Entry[] = [];
  let at = 0;
  while (at + HEAD <= bytes.length) {
    const size = bytes.readUInt32LE(at);
    const letter = String.fromCharCode(bytes.readUInt8(at + 4)) as keyof typeof OPS;
    const first = at + HEAD + bytes.readUInt16LE(at + 8);
    const second = first + bytes.readUInt16LE(at + 10);
    const op = OPS[letter];
    if (at + size > bytes.length) break; // It is being written.
    if (op === undefined || second > at + size) throw new Error(`the record is damaged at ${at}`);
    entries.push({
      op,
      path: bytes.toString('utf8', at + HEAD, first),
      other: bytes.toString('utf8', first, second),
      pid: bytes.readInt32LE(at + 12),
      inode: Number(bytes.readBigUInt64LE(at + 16)),
      offset: Number(bytes.readBigInt64LE(at + 24)),
      length: Number(bytes.readBigInt64LE(at + 32)),
      data: op === 'write' ? bytes.subarray(second, at + size) : undefined,
    });
    at += size;
  }
  return { list: entries, used: at };
}

/** The recorder, built once per run with the system's C compiler, where every user can load it. */
export function recorder(): string {
  const library = join(inject('runFolder'), 'recorder.so');
  if (existsSync(library)) return library;
  const fresh = join(mkdtempSync(join(inject('runFolder'), 'build-')), 'recorder.so');
  const flags = ['-shared', '-fPIC', '-O2', '-Wall', '-Wextra', '-Werror', '-std=gnu11'];
  execFileSync('cc', [...flags, '-o', fresh, join(import.meta.dirname, 'recorder.c'), '-ldl']);
  execFileSync('chmod', ['755', fresh]);
  renameSync(fresh, library);
  return library;
}

/** What is recorded, and where. */
export interface Recording {
  readonly record: string;
  readonly roots: readonly string[];
  /** While this file is there, calls that it names fail; see recorder.c. */
  readonly fails?: string;
}

/**
 * Parts of paths that a loss of power may do anything to: locks, sockets, the journal of a server and its rehearsal (all
 * in `run/`), which are of no use after the machine's end; the index of SQLite's log, which the first process that opens
 * the store makes anew, whatever lies there; and the log for people.
 */
export const EPHEMERAL = ['/run/', '-shm', '/daemon.log'] as const;

/** The variables that have a program and all it starts recorded. */
export function recording({ record, roots, fails }: Recording): Record<string, string> {
  return {
    LD_PRELOAD: recorder(),
    POWER_RECORD: record,
    POWER_ROOTS: roots.join(':'),
    POWER_IGNORE: EPHEMERAL.join(':'),
    ...(fails === undefined ? {} : { POWER_FAILS: fails }),
  };
}
