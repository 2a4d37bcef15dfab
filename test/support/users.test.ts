import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { hungMount } from './hung-mount.js';
import { leftoverMounts } from './mounted.js';
import { listProcesses } from './processes.js';
import { currentUser, isRoot, type TestUser, throwAwayUser } from './users.js';

const kinds: [string, boolean, () => TestUser][] = [
  ['the current user', true, currentUser],
  ['a throw-away user', isRoot, throwAwayUser],
];

/** Starts a process that outlives whoever started it, and gives back its pid. */
async function leaveBehind(user: TestUser): Promise<number> {
  const result = await user.run(['sh', '-c', 'setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $!']);
  return Number(result.stdout);
}

const runs = (pid: number): boolean => listProcesses().some((entry) => entry.pid === pid && !entry.zombie);

describe.each(kinds)('%s', (_, possible, make) => {
  let user: TestUser | undefined;
  const fresh = (): TestUser => {
    user = make();
    return user;
  };
  afterEach(async () => {
    if (user !== undefined && existsSync(user.home)) await user.remove();
    user = undefined;
  });

  test.runIf(possible)('runs programs with its own ids, home and clean variables', async () => {
    const person = fresh();
    const { stdout } = await person.run(['sh', '-c', 'id -u; id -un; pwd; echo "$HOME"; env | cut -d = -f 1 | sort']);
    const [uid, name, folder, home, ...variables] = stdout.trim().split('\n');
    expect([uid, name, folder, home]).toEqual([String(person.uid), person.name, person.home, person.home]);
    expect(variables).toEqual(['HOME', 'LANG', 'LOGNAME', 'PATH', 'PWD', 'SHELL', 'USER']);
    expect(statSync(person.home)).toMatchObject({ uid: person.uid });
    expect(statSync(person.home).mode & 0o777).toBe(0o700);
  });

  test.runIf(possible)('gives input, and tells status, output and signal', async () => {
    const person = fresh();
    const failed = await person.run(['sh', '-c', 'cat; echo wrong >&2; exit 3'], { input: 'text' });
    expect(failed).toEqual({ code: 3, signal: null, stdout: 'text', stderr: 'wrong\n' });
    const killed = await person.run(['sh', '-c', 'kill -TERM $$']);
    expect(killed).toMatchObject({ code: null, signal: 'SIGTERM' });
  });

  test.runIf(possible)('stops waiting for a program that does not end, or whose child keeps the output', async () => {
    const person = fresh();
    await expect(person.run(['sleep', '600'], { timeout: 0.5 })).rejects.toThrow('sleep did not end');
    await expect(person.run(['sh', '-c', 'sleep 600 &'], { timeout: 0.5 })).rejects.toThrow('kept its output open');
  });

  test.runIf(possible)('leaves no process, mount, home or entry behind when it is removed', async () => {
    const person = fresh();
    const pid = await leaveBehind(person);
    const bystander = currentUser();
    const other = await leaveBehind(bystander);
    mkdirSync(join(person.home, 'mount'));
    const end = await hungMount(join(person.home, 'mount'));
    expect([runs(pid), leftoverMounts(person.home).length]).toEqual([true, 1]);

    await person.remove();
    end();
    expect(runs(pid)).toBe(false);
    expect(runs(other)).toBe(true);
    expect(leftoverMounts(person.home)).toEqual([]);
    expect(existsSync(person.home)).toBe(false);
    if (make === throwAwayUser) expect(readFileSync('/etc/passwd', 'utf8')).not.toContain(person.name);
    await bystander.remove();
    expect(runs(other)).toBe(false);
  });
});

test.runIf(isRoot)('a throw-away user cannot read the home of another', async () => {
  const [one, two] = [throwAwayUser(), throwAwayUser()];
  try {
    const { code } = await one.run(['ls', two.home]);
    expect(code).not.toBe(0);
    expect(execFileSync('id', ['-u', two.name], { encoding: 'utf8' }).trim()).toBe(String(two.uid));
  } finally {
    await one.remove();
    await two.remove();
  }
});
