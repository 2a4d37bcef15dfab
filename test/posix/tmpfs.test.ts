import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, inject, test } from 'vitest';
import { currentUser, isRoot, type TestUser, throwAwayUser } from '../support/users.js';
import { posixSuite } from './suite.js';

/** What statfs tells as the type of a tmpfs (`TMPFS_MAGIC`). */
const TMPFS = 0x01021994;
/** Room and names that the largest cases need, with some to spare. */
const BYTES_NEEDED = 48 * 1_048_576;

function isTmpfs(folder: string): boolean {
  if (!fs.existsSync(folder)) return false;
  const found = fs.statfsSync(folder);
  return found.type === TMPFS && found.bavail * found.bsize > BYTES_NEEDED;
}

/** Makes a folder of the user's own, on a tmpfs; gives it back with what removes it. */
function tmpfsFolder(user: TestUser): { dir: string; remove: () => void } {
  const shared = isTmpfs('/dev/shm');
  const dir = fs.mkdtempSync(path.join(shared ? '/dev/shm' : inject('runFolder'), 'mend-posix-'));
  if (!shared) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'mend-posix', dir]);
  fs.chmodSync(dir, 0o700);
  fs.chownSync(dir, user.uid, user.gid);
  return {
    dir,
    remove: () => {
      if (!shared) execFileSync('umount', [dir]);
      fs.rmSync(dir, { recursive: true });
    },
  };
}

const who: [string, () => TestUser][] = [['the current user', currentUser]];
if (isRoot) who.push(['an ordinary user', throwAwayUser]);

describe.each(who)('POSIX behaviour as %s', (_, makeUser) => {
  let user: TestUser;
  beforeAll(() => {
    user = makeUser();
  });
  afterAll(() => user.remove());

  if (isTmpfs('/dev/shm') || isRoot) {
    describe('on tmpfs', () => {
      let folder: ReturnType<typeof tmpfsFolder>;
      beforeAll(() => {
        folder = tmpfsFolder(user);
      });
      afterAll(() => folder.remove());
      posixSuite('plain', () => ({ dir: folder.dir, user }));
    });
  } else {
    test.skip('on tmpfs: /dev/shm is none, and only root can mount one');
  }

  describe('in the temporary folder', () => {
    posixSuite('plain', () => {
      const dir = fs.mkdtempSync(path.join(user.home, 'posix-'));
      fs.chownSync(dir, user.uid, user.gid);
      return { dir, user };
    });
  });
});
