import { hash, randomBytes } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  futimesSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { isSystemError } from '../errors.js';
import { findHarness } from '../harness/registry.js';
import { type MemoryFile, MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import { fileTime } from './file-time.js';
import type { Skipped } from './folder-reader.js';
import { HeldFolder } from './held-folder.js';
import { knownOf } from './known-content.js';
import { isKeptToOwner, OWNER_FILE, OWNER_FOLDER } from './owner-only.js';
import { syncNames } from './sync-names.js';

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
 *
 * The store is told what was exchanged once that is on the disk. A file that went with the power, of which the store
 * believed that it was written, would be taken at the next mount for what somebody made of it.
 * @param isReal the folder is named by its real path: a link above it leads elsewhere, and nothing is written there
 */
export function writeBack(store: Store, tree: TreeRow, folder: string, isReal = false): WrittenBack {
  // What is in the folder after the power went is to be in the store, too.
  store.log.flushNow();
  const heads = new MemoryFiles(store, tree).list();
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
  const exchangedHeads: MemoryFile[] = [];
  const changed = new Set<string>();
  if (isOwnerOnly(tree) && heads.length > 0 && !isFolderKept(folder, isReal))
    return { written, removed, skipped: [{ path: '.', reason: NOT_ALONE }] };
  for (const head of heads) {
    attempt(head.path, () => {
      const result = writeHead(store, tree, folder, head, isReal);
      if (typeof result === 'string') return result;
      exchangedHeads.push(head);
      if (!result) return undefined;
      written++;
      changed.add(parentOf(head.path));
      return undefined;
    });
  }
  const unsynced = syncNames(folder, changed);
  for (const head of exchangedHeads) {
    attempt(head.path, () => {
      const reason = unsynced.get(parentOf(head.path));
      if (reason !== undefined) return reason;
      const base = { path: head.path, sent: head.content, stored: head.content };
      store.write(() => {
        store.bases.put(store.machine, folder, tree.id, base);
        store.disputes.delete(store.machine, folder, tree.id, head.path);
      });
      return undefined;
    });
  }
  const kept = new Set(heads.map((head) => head.path));
  const exchanged = [
    ...store.bases.of(store.machine, folder, tree.id).keys(),
    ...store.disputes.of(store.machine, folder, tree.id).map(({ path }) => path),
  ];
  for (const path of new Set(exchanged)) {
    if (kept.has(path)) continue;
    attempt(path, () => {
      if (removeUnchanged(store, tree, folder, path, isReal) === 'removed') removed++;
      return undefined;
    });
  }
  return { written, removed, skipped };
}

/**
 * Removes the plain file of a note that is not in memory any more, unless something else changed it since the last
 * exchange; then it stays, for the next mount to take in. The exchange is forgotten when there is no file left.
 * @param path the file's path in the folder
 */
export function removeUnchanged(
  store: Store,
  tree: TreeRow,
  folder: string,
  path: string,
  isReal = false,
): 'removed' | 'changed' | 'missing' {
  const { held, name } = reach(folder, path, false, isReal);
  let there = false;
  if (held instanceof HeldFolder) {
    try {
      there = lstatSync(held.at(name), { throwIfNoEntry: false }) !== undefined;
      if (there && !holdsOne(held.at(name), knownOf(store, tree, folder, path))) return 'changed';
      if (there) {
        unlinkSync(held.at(name));
        held.sync();
      }
    } finally {
      held.close();
    }
  }
  store.write(() => {
    store.bases.delete(store.machine, folder, tree.id, path);
    store.disputes.delete(store.machine, folder, tree.id, path);
  });
  return there ? 'removed' : 'missing';
}

function parentOf(path: string): string {
  return path.split('/').slice(0, -1).join('/');
}

const NOT_ALONE = 'cannot be kept for you alone on this file system, so it is not written';

/** Whether the plain files of a tree are for their owner alone. */
function isOwnerOnly({ harness }: TreeRow): boolean {
  const adapter = findHarness(harness);
  return adapter?.keepsMemory === true && adapter.ownerOnly === true;
}

/** Makes the folder where there is none, and takes it from everybody but its owner; false when that does not go. */
function isFolderKept(folder: string, isReal: boolean): boolean {
  const held = HeldFolder.walk(folder, [], true, isReal);
  if (!(held instanceof HeldFolder)) return false;
  try {
    return isKeptToOwner(held.at('.'), OWNER_FOLDER);
  } finally {
    held.close();
  }
}

/** The folder that a path lies in, held open. Never through a link, which would lead out. */
function reach(folder: string, path: string, make: boolean, isReal: boolean) {
  const names = path.split('/');
  const name = names.pop() ?? '';
  return { held: HeldFolder.walk(folder, names, make, isReal), name };
}

/** Whether a path is a regular file with one of the given hashes. */
function holdsOne(file: string, known: readonly Buffer[]): boolean {
  const stat = lstatSync(file);
  if (known.length === 0 || !stat.isFile() || stat.size > LARGEST) return false;
  const digest = hash('sha256', readFileSync(file), 'buffer');
  return known.some((sha256) => sha256.equals(digest));
}

/** Returns true when the file was written, false when it was there already, and why not when something is in the way. */
function writeHead(store: Store, tree: TreeRow, folder: string, head: MemoryFile, isReal: boolean): boolean | string {
  const { held, name } = reach(folder, head.path, true, isReal);
  if (!(held instanceof HeldFolder)) return 'lies in a folder that is a link or a file on this machine';
  try {
    return writeInto(store, tree, folder, head, held, name);
  } finally {
    held.close();
  }
}

function writeInto(
  store: Store,
  tree: TreeRow,
  folder: string,
  head: MemoryFile,
  held: HeldFolder,
  name: string,
): boolean | string {
  const file = held.at(name);
  const there = lstatSync(file, { throwIfNoEntry: false });
  if (there && !there.isFile()) return 'is not a regular file on this machine';
  const own = store.contents.digest(head.content)?.sha256;
  const alone = isOwnerOnly(tree);
  if (there && own && holdsOne(file, [own])) return alone && !isKeptToOwner(file, OWNER_FILE) ? NOT_ALONE : false;
  if (there && !holdsOne(file, knownOf(store, tree, folder, head.path)))
    return 'was changed on this machine meanwhile; the next mount takes it in';
  const time = fileTime(head.row.mtime);
  // Not made from the file's name, which may be as long as a name can be; every harness takes it for left behind.
  const temporary = held.at(`.mend.tmp.${process.pid}.${randomBytes(6).toString('hex')}`);
  try {
    const fd = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(fd, store.content(head.content));
      if (there && !alone) fchmodSync(fd, there.mode & 0o7777);
      futimesSync(fd, time, time);
      if (alone && !isKeptToOwner(temporary, OWNER_FILE)) return NOT_ALONE;
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
  return true;
}
