import { chmodSync, lstatSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isSystemError } from '../errors.js';
import { type MemoryFile, MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import type { Skipped } from './folder-reader.js';

/** What a write-back did. */
export interface WrittenBack {
  readonly written: number;
  readonly removed: number;
  readonly skipped: readonly Skipped[];
}

/**
 * Writes the heads of a tree into the plain folder under a mount that was taken off (spec §3.3): each file through a
 * temporary and a rename, with the mode it had. What was removed from memory is removed from the folder, unless
 * something else changed it there since.
 */
export function writeBack(store: Store, tree: TreeRow, folder: string): WrittenBack {
  const heads = new MemoryFiles(store, tree).list();
  const skipped: Skipped[] = [];
  let written = 0;
  const attempt = (path: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!isSystemError(error)) throw error;
      skipped.push({ path, reason: `cannot be written (${error.code})` });
    }
  };
  for (const head of heads) {
    attempt(head.path, () => {
      if (writeHead(store, folder, head)) written++;
      const base = { path: head.path, sent: head.content, stored: head.content };
      store.write(() => store.bases.put(store.machine, folder, tree.id, base));
    });
  }
  const kept = new Set(heads.map((head) => head.path));
  let removed = 0;
  for (const [path, base] of store.bases.of(store.machine, folder, tree.id)) {
    if (kept.has(path)) continue;
    attempt(path, () => {
      const there = readPlain(`${folder}/${path}`);
      if (there && !there.bytes.equals(store.content(base.sent))) return;
      if (there) {
        unlinkSync(`${folder}/${path}`);
        removed++;
      }
      store.write(() => store.bases.delete(store.machine, folder, tree.id, path));
    });
  }
  return { written, removed, skipped };
}

/** Content and mode of a regular file; undefined when there is none. */
function readPlain(file: string): { bytes: Buffer; mode: number } | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  return stat?.isFile() ? { bytes: readFileSync(file), mode: stat.mode & 0o7777 } : undefined;
}

function writeHead(store: Store, folder: string, head: MemoryFile): boolean {
  const file = `${folder}/${head.path}`;
  const bytes = store.content(head.content);
  const there = readPlain(file);
  const time = head.row.mtime / 1e6;
  if (there?.bytes.equals(bytes)) return false;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  // A link in place of a sub-folder would lead the write out of the folder.
  if (realpathSync(dirname(file)) !== resolve(dirname(file))) throw Object.assign(new Error('leads out'), { code: 'ELOOP' });
  const temporary = `${file}.tmp.${process.pid}.${Date.now().toString(16)}`;
  try {
    writeFileSync(temporary, bytes, { mode: 0o600, flag: 'wx' });
    if (there) chmodSync(temporary, there.mode);
    utimesSync(temporary, time, time);
    renameSync(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
  return true;
}
