import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leftoverMounts } from '../support/mounted.js';
import { programPath } from '../support/program.js';
import { currentUser, isRoot, type RunResult, type TestUser, throwAwayUser } from '../support/users.js';
import { posixSuite } from './suite.js';

const who: [string, () => TestUser][] = [['the current user', currentUser]];
if (isRoot) who.push(['an ordinary user', throwAwayUser]);

async function succeed(user: TestUser, cwd: string, command: [string, ...string[]]): Promise<RunResult> {
  const result = await user.run(command, { cwd, env: { MEND_STORE_DIR: path.join(user.home, 'store') } });
  expect(result.code, `${command.join(' ')}: ${result.stderr}`).toBe(0);
  return result;
}

describe.each(who)('POSIX behaviour on a mount of %s', (_, makeUser) => {
  let user: TestUser;
  let repository: string;
  let dir: string;

  const mend = (...args: string[]) => succeed(user, repository, [process.execPath, programPath(), ...args]);

  beforeAll(async () => {
    user = makeUser();
    repository = path.join(user.home, 'repository');
    await succeed(user, user.home, ['git', 'init', '--quiet', repository]);
    await mend('mount', '--harness', 'claude');
    const slug = fs.realpathSync(repository).replace(/[^A-Za-z0-9]/g, '-');
    dir = path.join(user.home, '.claude', 'projects', slug, 'memory');
    expect(leftoverMounts(user.home)).toEqual([dir]);
  });

  afterAll(() => user.remove());

  posixSuite('mount', () => ({ dir, user }));

  it('unmounts cleanly afterwards, with nothing left in the folder', async () => {
    await mend('unmount', '--all');
    expect(leftoverMounts(user.home)).toEqual([]);
    expect((await succeed(user, user.home, ['ls', '-A', dir])).stdout).toBe('');
  });
});
