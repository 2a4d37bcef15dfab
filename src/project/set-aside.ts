import { hash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError, MendError } from '../errors.js';
import { FolderRecords } from '../store/folder-records.js';
import type { Store } from '../store/store.js';
import { printable } from './printable.js';

/** A plain folder of a project that had to make room. */
export interface SetAside {
  readonly from: string;
  /** Where its files are now; undefined when there were none. */
  readonly to: string | undefined;
  /** Files that are not as the project's memory last had them. */
  readonly changed: number;
}

/**
 * Has a plain folder that holds memory of a project make room for another's: it gets another name, and what is known of
 * exchanges with it goes along. For use within `store.write`; the renaming comes last.
 * @param tree the project's tree that it was exchanged with
 * @param name of that project
 * @param isLocal tells what is no memory
 * @throws {MendError} when the folder cannot be renamed
 */
export function setAside(
  store: Store,
  folder: string,
  tree: number,
  name: string,
  isLocal: (path: string) => boolean,
): SetAside {
  const records = new FolderRecords(store.db);
  try {
    const files = filesIn(folder);
    if (files === undefined || files.length === 0) {
      records.forgetExchanges(store.machine, tree, folder);
      return { from: folder, to: undefined, changed: 0 };
    }
    const bases = store.bases.of(store.machine, folder, tree);
    const changed = files.filter((path) => {
      const base = bases.get(path);
      return !isLocal(path) && !(base && holds(join(folder, path), store.contents.digest(base.sent)?.sha256));
    }).length;
    const to = freeName(folder, name);
    records.moveExchanges(store.machine, tree, folder, to);
    renameSync(folder, to);
    return { from: folder, to, changed };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new MendError(
      `the memory folder ${printable(folder)} of project "${name}" cannot be put aside (${error.code}): ` +
        'move it away yourself and try again; nothing was changed',
      { cause: error },
    );
  }
}

/** Undoes the renaming, when the transaction did not come to its end. */
export function putBack(rooms: readonly SetAside[]): void {
  for (const { from, to } of rooms) if (to !== undefined && !existsSync(from)) renameSync(to, from);
}

/** Everything in a folder that is no folder, by its path in it; undefined when there is no such folder. */
function filesIn(folder: string): string[] | undefined {
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) return undefined;
  const files: string[] = [];
  const read = (at: string): void => {
    for (const entry of readdirSync(join(folder, at), { withFileTypes: true })) {
      const path = at === '' ? entry.name : `${at}/${entry.name}`;
      if (entry.isDirectory()) read(path);
      else files.push(path);
    }
  };
  read('');
  return files;
}

function holds(file: string, sha256: Buffer | undefined): boolean {
  return (
    sha256 !== undefined && lstatSync(file).isFile() && hash('sha256', readFileSync(file), 'buffer').equals(sha256)
  );
}

/** A name beside the folder that says whose it was, and that nothing has. */
function freeName(folder: string, project: string): string {
  const plain = `${folder}.${project.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 60)}`;
  for (let path = plain, suffix = 2; ; suffix++) {
    if (!existsSync(path)) return path;
    path = `${plain}-${suffix}`;
  }
}
