import { hash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError } from '../errors.js';
import type { ImportBase } from '../store/import-bases.js';
import { type MemoryFile, MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import type { Skipped } from './folder-reader.js';

/** Bytes that a file of memory may have at most, whatever the settings say; no larger one is read. */
const LARGEST = 64 * 1024 * 1024;

/** What a write-back did. */
export interface WrittenBack {
  readonly written: number;
  readonly removed: number;
  readonly skipped: readonly Skipped[];
}

/**
 * Writes the heads of a tree into the plain folder under a mount that was taken off (spec §3.3): each file through a
 * temporary and a rename, with the mode it had. What was removed from memory is removed from the folder. What
 * something else changed or put there since the last exchange stays: the next mount takes it in.
 */
export function writeBack(store: Store, tree: TreeRow, folder: string): WrittenBack {
  const heads = new MemoryFiles(store, tree).list();
  const bases = store.bases.of(store.machine, folder, tree.id);
  const skipped: Skipped[] = [];
  let written = 0;
  let removed = 0;
  /** @param work answers why nothing was done, or undefined */
  const attempt = (path: string, work: () => string | undefined): void => {
    let reason: string | undefined;
    try {
      reason = work();
    } catch (error) {
      if (!isSystemError(error)) throw error;
      reason = `cannot be written (${error.code})`;
    }
    if (reason !== undefined) skipped.push({ path, reason });
  };
  for (const head of heads) {
    attempt(head.path, () => {
      const sent = bases.get(head.path)?.sent;
      const dispute = store.disputes.get(store.machine, folder, tree.id, head.path);
      const result = writeHead(store, folder, head, [
        ...(sent === undefined ? [] : [store.contents.digest(sent)?.sha256]),
        dispute?.sent,
      ]);
      if (typeof result === 'string') return result;
      if (result) written++;
      const base = { path: head.path, sent: head.content, stored: head.content };
      store.write(() => {
        store.bases.put(store.machine, folder, tree.id, base);
        store.disputes.delete(store.machine, folder, tree.id, head.path);
      });
      return undefined;
    });
  }
  const kept = new Set(heads.map((head) => head.path));
  for (const [path, base] of bases) {
    if (kept.has(path)) continue;
    attempt(path, () => {
      const outcome = removeUnchanged(store, tree, folder, base);
      if (outcome === 'removed') removed++;
      return undefined;
    });
  }
  return { written, removed, skipped };
}

/**
 * Removes the plain file of a note that is not in memory any more, unless something else changed it since the last
 * exchange; then it stays, for the next mount to take in.
 * @param base the last exchange, which is forgotten when there is no file left
 */
export function removeUnchanged(
  store: Store,
  tree: TreeRow,
  folder: string,
  base: ImportBase,
): 'removed' | 'changed' | 'missing' {
  const file = `${folder}/${base.path}`;
  const reached = reach(folder, base.path, false) === 'reached';
  const there = reached ? lstatSync(file, { throwIfNoEntry: false }) : undefined;
  if (there && !holds(file, there, store.contents.digest(base.sent)?.sha256)) return 'changed';
  if (there) unlinkSync(file);
  store.write(() => store.bases.delete(store.machine, folder, tree.id, base.path));
  return there ? 'removed' : 'missing';
}

/**
 * Walks to the folder that a path lies in, and makes it when asked to. Never through a link, which would lead out.
 * A missing folder is not an error unless it should have been made.
 */
function reach(folder: string, path: string, make: boolean): 'reached' | 'missing' | 'blocked' {
  let at = folder;
  for (const name of ['', ...path.split('/').slice(0, -1)]) {
    if (name !== '') at = `${at}/${name}`;
    const stat = lstatSync(at, { throwIfNoEntry: false });
    if (stat && !stat.isDirectory()) return 'blocked';
    if (!stat && !make) return 'missing';
    if (!stat) mkdirSync(at, { recursive: at === folder, mode: 0o700 });
  }
  return 'reached';
}

function holds(file: string, stat: Stats, sha256: Buffer | undefined): boolean {
  if (sha256 === undefined || !stat.isFile() || stat.size > LARGEST) return false;
  return hash('sha256', readFileSync(file), 'buffer').equals(sha256);
}

/**
 * Returns true when the file was written, false when it was there already, and why not when something is in the way.
 * @param known hashes of what the store has from the folder: what was exchanged last, and what could not be merged
 */
function writeHead(
  store: Store,
  folder: string,
  head: MemoryFile,
  known: readonly (Buffer | undefined)[],
): boolean | string {
  if (reach(folder, head.path, true) === 'blocked') return 'lies in a folder that is a link or a file on this machine';
  const file = `${folder}/${head.path}`;
  const there = lstatSync(file, { throwIfNoEntry: false });
  if (there && !there.isFile()) return 'is not a regular file on this machine';
  if (there && holds(file, there, store.contents.digest(head.content)?.sha256)) return false;
  if (there && !known.some((sha256) => holds(file, there, sha256))) {
    return 'was changed on this machine meanwhile; the next mount takes it in';
  }
  const time = head.row.mtime / 1e6;
  // Not made from the file's name, which may be as long as a name can be; every harness takes it for left behind.
  const temporary = join(dirname(file), `.mend.tmp.${process.pid}.${Date.now().toString(16)}`);
  try {
    writeFileSync(temporary, store.content(head.content), { mode: 0o600, flag: 'wx' });
    if (there) chmodSync(temporary, there.mode & 0o7777);
    utimesSync(temporary, time, time);
    renameSync(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
  return true;
}
