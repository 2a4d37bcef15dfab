import { fstatSync, lstatSync, readdirSync, realpathSync, type Stats, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../../errors.js';
import { HeldFolder } from '../../import/held-folder.js';
import { STORE_FILE } from '../../store/location.js';
import { quoted, sized } from '../output.js';
import { coveredFault } from '../people/system-folder.js';

/** What root sees of a store from outside: names, owners, modes and sizes. Nothing in it is opened but folders. */
export interface StoreLooks {
  /** Of the store and its log; null when there is none, or it is not looked at. */
  readonly bytes: number | null;
  /** Room on its disk for whoever is not root. */
  readonly free: number | null;
  /** What is wrong, as sentences. */
  readonly faults: readonly string[];
}

/** Room on a disk, in bytes, below which it is said to be little. */
const LITTLE = 64 * 1024 * 1024;

/**
 * Looks at the folder of a store without following a link.
 * @param owner whose it is to be
 * @param serving mount namespaces of the daemons that serve it
 * @param isElsewhere its path means something only in another of these
 * @param home of the owner, which may be a link: it is the administrator who said so
 */
export function lookAtStore(
  path: string,
  owner: number,
  serving: ReadonlySet<string>,
  isElsewhere: boolean,
  home: string | undefined,
): StoreLooks {
  if (isElsewhere) return { bytes: null, free: null, faults: [] };
  let folder: HeldFolder;
  try {
    folder = HeldFolder.openReal(inRealHome(path, home));
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const why = whyNot(error);
    return { bytes: null, free: null, faults: [`the store folder ${quoted(path)} ${why}`] };
  }
  try {
    const { bavail, bsize } = statfsSync(folder.at());
    const free = bavail * bsize;
    const faults = [...ownerFaults(folder, path, owner), ...runFaults(folder, serving)];
    if (free < LITTLE) faults.push(`the disk with the store has ${sized(free)} left`);
    return { bytes: bytesIn(folder), free, faults };
  } finally {
    folder.close();
  }
}

/** The same path, with the home as it really is. */
function inRealHome(path: string, home: string | undefined): string {
  if (!home?.startsWith('/') || !path.startsWith(`${home}/`)) return path;
  try {
    return join(realpathSync(home), path.slice(home.length));
  } catch (error) {
    if (isSystemError(error)) return path;
    throw error;
  }
}

function whyNot(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ENOENT':
      return 'is not there';
    case 'EACCES':
    case 'ENOTCONN':
      return coveredFault(error);
    default:
      return 'is not a folder, or leads through a link';
  }
}

/** A file in it, looked at from outside; why not, where its owner mounted something over it. */
function statIn(folder: HeldFolder, name: string): Stats | string | undefined {
  try {
    return lstatSync(folder.at(name), { throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error)) return `${name} ${coveredFault(error)}`;
    throw error;
  }
}

function bytesIn(folder: HeldFolder): number | null {
  const sizes = ['', '-wal'].flatMap((end) => {
    const stat = statIn(folder, STORE_FILE + end);
    return typeof stat === 'object' ? stat.size : [];
  });
  return sizes.length === 0 ? null : sizes.reduce((sum, size) => sum + size, 0);
}

function ownerFaults(folder: HeldFolder, path: string, owner: number): string[] {
  const faults: string[] = [];
  const there = fstatSync(folder.fd);
  if (there.uid !== owner) faults.push(`the store folder ${quoted(path)} belongs to user ${there.uid}`);
  if ((there.mode & 0o077) !== 0) faults.push(`others may enter the store folder ${quoted(path)}`);
  const file = statIn(folder, STORE_FILE);
  if (!file) return faults;
  if (typeof file === 'string') faults.push(file);
  else if (!file.isFile()) faults.push('the store is not a regular file');
  else if (file.uid !== owner) faults.push(`the store belongs to user ${file.uid}`);
  else if ((file.mode & 0o077) !== 0) faults.push('others may read the store');
  return faults;
}

/** What daemons left behind in `run/`: a mark from their start to their clean end, or why they were given up. */
function runFaults(folder: HeldFolder, serving: ReadonlySet<string>): string[] {
  let run: HeldFolder;
  try {
    run = folder.enter('run');
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return [];
    if (isSystemError(error)) return ['the folder "run" beside the store is no folder'];
    throw error;
  }
  try {
    const left = readdirSync(run.at()).flatMap((name) => {
      const [, owner = '', end] = /^(\d+)\.(open|failure)$/.exec(name) ?? [];
      return end === undefined || serving.has(owner) ? [] : [end];
    });
    return [
      ...(left.includes('open') ? ['a daemon did not end cleanly: the next start looks for damage'] : []),
      ...(left.includes('failure') ? ['a daemon was given up: daemon.log beside the store says why'] : []),
    ];
  } finally {
    run.close();
  }
}
