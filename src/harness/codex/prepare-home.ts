import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, linkSync, lstatSync, mkdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError, MendError } from '../../errors.js';
import type { HarnessPlace } from '../adapter.js';
import { refuseFaults } from './home-faults.js';
import { type MemoryVersion, ROOTS, wantedVersion } from './memory-version.js';
import { shareWithUser, takeLoginOut } from './shared-links.js';
import { MARK, readMark, userHome } from './user-home.js';

/** Folder in a home that has memory folders of a version that is not in use any more. */
export const ASIDE = 'other-memories';

/**
 * Makes the home of a project, with the user's login and settings linked into it, and sees that it has the memory folder
 * of the wanted version only: Codex goes by which one is there.
 * @throws {MendError} when memory of the other version is mounted.
 */
export function prepareHome(place: HarnessPlace): void {
  const { home, env } = place;
  if (home === undefined) return;
  refuseFaults(place);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  chmodSync(home, 0o700);
  const user = userHome(env);
  const known = readMark(home);
  // A login that was made here is that of whom the home was shared with then.
  if (known && known.user !== user) takeLoginOut(home, known.user);
  mark(home, user);
  shareWithUser(home, user);
  const wanted = wantedVersion(place);
  for (const version of ['v1', 'v2'] as const) if (version !== wanted) putAside(home, version);
}

function mark(home: string, user: string): void {
  const known = readMark(home);
  if (known?.user === user) return;
  const fresh = join(home, `.mend.tmp.${process.pid}.${randomBytes(6).toString('hex')}`);
  writeFileSync(fresh, `${JSON.stringify({ id: known?.id ?? randomUUID(), user })}\n`, { mode: 0o600, flag: 'wx' });
  try {
    if (known) renameSync(fresh, join(home, MARK));
    // Of two commands that make a home at once, the first decides on its id.
    else linkSync(fresh, join(home, MARK));
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw error;
  } finally {
    rmSync(fresh, { force: true });
  }
}

/** Takes a memory folder of another version out of Codex's sight. What is in it goes on in the folder of the wanted one. */
function putAside(home: string, version: MemoryVersion): void {
  const folder = join(home, ROOTS[version]);
  try {
    rmdirSync(folder);
    return;
  } catch (error) {
    if (isSystemError(error, 'EBUSY', 'ENOTCONN'))
      throw new MendError(
        `Codex's memory of this project is in use in version ${version.slice(1)}, and its settings ask for the other one: end Codex, run "mend unmount" and try again`,
      );
    if (isSystemError(error, 'ENOENT')) return;
    if (!isSystemError(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  }
  mkdirSync(join(home, ASIDE), { recursive: true, mode: 0o700 });
  const { mtimeMs } = lstatSync(folder);
  renameSync(folder, join(home, ASIDE, `${ROOTS[version]}.${Math.floor(mtimeMs)}.${randomBytes(3).toString('hex')}`));
}
