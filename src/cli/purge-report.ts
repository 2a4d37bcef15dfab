import { hash } from 'node:crypto';
import { lstatSync, readFileSync } from 'node:fs';
import { MOUNT_TYPE, mountTable } from '../daemon/mount-point.js';
import { isSystemError } from '../errors.js';
import { removeUnchanged } from '../import/write-back.js';
import type { Project } from '../store/projects.js';
import type { PurgeTarget } from '../store/purge.js';
import type { Keeper } from '../store/purge-rows.js';
import type { DroppedBackups } from '../store/scrub.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import { displayName } from './context.js';
import { complain, printLine, quoted } from './output.js';

/** Who else has the same bytes, and what to do about it, as a sentence. */
export function describeKeeper(store: Store, project: Project, { tree, path, as }: Keeper): string {
  const row = store.trees.get(tree);
  const owner = row && store.projects.list(store.machine).find(({ id }) => id === row.project);
  const where = owner && owner.id !== project.id ? ` of project "${owner.name}"` : '';
  const file = `${quoted(displayName(row?.harness ?? 'claude', path))}${where}`;
  switch (as) {
    case 'head':
      return `${file} holds the same bytes and keeps them: purge it too if they are to go`;
    case 'version':
      return `the history of ${file} has the same bytes and keeps them: purge it too if they are to go`;
    case 'draft':
      return `${file} is being written with the same bytes and keeps them: purge it too if they are to go`;
    case 'local file':
      return `${file}, which is not memory, holds the same bytes on a mount: remove it there`;
  }
}

/**
 * Removes the plain files that are as the store last knew them, in folders of this machine that are not mounted; of a
 * mounted folder the unmount does. A purged version leaves the plain file to the next mount or unmount.
 * @returns false, having said so, when a plain file stays that has, or may have, what was purged
 */
export function settlePlainFiles(
  store: Store,
  { tree, path, version }: PurgeTarget,
  sha256: readonly Buffer[],
): boolean {
  const mounts = mountTable();
  let settled = true;
  for (const { folder, path: plain } of plainFiles(store, tree, path)) {
    const file = `${folder}/${plain}`;
    if (mounts.get(folder) === MOUNT_TYPE) {
      if (version === undefined) printLine(`the plain file under the mount ${quoted(folder)} goes with "mend unmount"`);
      continue;
    }
    try {
      const stays = version === undefined ? removePlain(store, tree, folder, plain) : holdsOne(file, sha256);
      if (!stays) continue;
      complain(
        `${quoted(file)} ${version === undefined ? 'was changed since and stays' : 'still holds it'}: remove it yourself if it is to go`,
      );
    } catch (error) {
      if (!isSystemError(error)) throw error;
      complain(`${quoted(file)} could not be looked at (${error.code}): remove it yourself if it is to go`);
    }
    settled = false;
  }
  return settled;
}

/** The plain files of this machine that a file of memory was exchanged with. Copies from other machines have no folder. */
function plainFiles(store: Store, tree: TreeRow, path: string): { readonly folder: string; readonly path: string }[] {
  const exchanged = [
    ...store.bases.ofPath(store.machine, tree.id, path),
    ...store.disputes.ofFile(store.machine, tree.id, path),
  ];
  const distinct = new Map(
    exchanged.map((one) => [`${one.folder}/${one.path}`, { folder: one.folder, path: one.path }]),
  );
  return [...distinct.values()].filter(({ folder }) => folder !== '');
}

/** True when the file was changed, and is still there. */
function removePlain(store: Store, tree: TreeRow, folder: string, path: string): boolean {
  const outcome = removeUnchanged(store, tree, folder, path);
  if (outcome === 'removed') printLine(`removed the plain file ${quoted(`${folder}/${path}`)}`);
  return outcome === 'changed';
}

function holdsOne(file: string, sha256: readonly Buffer[]): boolean {
  if (!lstatSync(file, { throwIfNoEntry: false })?.isFile()) return false;
  const digest = hash('sha256', readFileSync(file), 'buffer');
  return sha256.some((one) => one.equals(digest));
}

/** Tells which copies of the store went; false, having said so, when one stays that may have what was purged. */
export function tellDropped({ deleted, unread }: DroppedBackups): boolean {
  for (const { name, kind } of deleted) printLine(`deleted ${name}, ${COPIES[kind ?? 'backup']} that held it`);
  for (const name of unread)
    complain(`${name}, a damaged copy of the store, cannot be read and may hold it: remove it if it is to go`);
  return unread.length === 0;
}

const COPIES = {
  schema: 'a backup from before an upgrade',
  backup: 'a backup',
  replaced: 'a replaced store',
  rescued: 'a rescued store',
} as const;
