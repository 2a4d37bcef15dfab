import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

/** A place the cases run on: a plain folder (tmpfs or a disk), or a mend mount. */
export type Place = 'plain' | 'mount';

/** Where a mount differs from a plain folder on purpose, and what is promised there instead. */
export interface MountException {
  on: 'mount';
  /** The rule that makes the difference. */
  why: string;
  /** Asserts the promised behaviour. `dir` lies one level below the mount point. */
  instead(dir: string): void | Promise<void>;
}

/** One promise about files, as a function over an empty folder of its own. Throws when it is broken. */
export interface PosixCase {
  name: string;
  run(dir: string): void | Promise<void>;
  except?: MountException;
}

/** What one case did; the child program prints one of these a line. */
export interface PosixResult {
  name: string;
  ok: boolean;
  error?: string;
}

/** Asserts that a call fails with this errno name, and with no other. */
export function refuses(code: string | string[], call: () => unknown): void {
  const wanted = Array.isArray(code) ? code : [code];
  let value: unknown;
  try {
    value = call();
  } catch (error) {
    const got = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    assert.ok(wanted.includes(got), `expected ${wanted.join(' or ')}, got ${got}`);
    return;
  }
  assert.fail(`expected ${wanted.join(' or ')}, but the call returned ${String(value)}`);
}

/** Opens a file, hands the descriptor to `use`, and closes it whatever happens. */
export function withFd<T>(file: string, flags: string | number, use: (fd: number) => T, mode = 0o644): T {
  const fd = fs.openSync(file, flags, mode);
  try {
    return use(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** Makes a file with this text in `dir` and returns its path. */
export function put(dir: string, name: string, text: string | Buffer = ''): string {
  const file = path.join(dir, name);
  fs.writeFileSync(file, text);
  return file;
}

/** Makes a folder in `dir` and returns its path. */
export function folder(dir: string, name: string): string {
  const made = path.join(dir, name);
  fs.mkdirSync(made);
  return made;
}

/** Reads a file as text through a fresh open. */
export function text(file: string): string {
  return fs.readFileSync(file, 'utf8');
}

/** Reads everything from the start through an open descriptor. */
export function textOf(fd: number): string {
  const buffer = Buffer.alloc(1 << 16);
  const count = fs.readSync(fd, buffer, 0, buffer.length, 0);
  return buffer.toString('utf8', 0, count);
}

/** Modification time in nanoseconds. */
export function mtime(file: string): bigint {
  return fs.statSync(file, { bigint: true }).mtimeNs;
}

/** Permission bits, with set-uid, set-gid and sticky. */
export function mode(file: string): number {
  return fs.statSync(file).mode & 0o7777;
}

/** Waits this many milliseconds without an event loop, so that a coarse kernel clock moves on. */
export function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
