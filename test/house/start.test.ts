import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { currentUser, isRoot, type RunResult, type TestUser, throwAwayUser } from '../support/users.js';

const checkout = join(import.meta.dirname, '../..');
let user: TestUser;

beforeEach(() => {
  user = currentUser();
});

afterEach(async () => {
  await user.remove();
});

const start = (args: string[], path?: string): Promise<RunResult> =>
  user.run([join(checkout, 'scripts/start'), ...args], path === undefined ? {} : { env: { PATH: path } });

/** A PATH that holds the named programs and nothing else. */
function pathWith(names: string[]): string {
  const folder = mkdtempSync(join(inject('runFolder'), 'bin-'));
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  for (const name of names) {
    const found = folders.map((part) => join(part, name)).find((file) => existsSync(file));
    if (found === undefined) throw new Error(`${name} is not on PATH`);
    symlinkSync(found, join(folder, name));
  }
  return folder;
}

/** Calls one function of the shared set-up. */
const setUpStep = (call: string): Promise<RunResult> =>
  user.run(['bash', '--norc', '-uc', `root=${checkout}; . "$root/scripts/lib.sh"; ${call}`]);

test('wrong usage is told with status 2', async () => {
  expect(await start(['--no-such-option'])).toMatchObject({ code: 2, stdout: '' });
  expect((await start(['--no-such-option'])).stderr).toMatch(/^mend: --no-such-option is not an option; usage: /);
  expect((await start(['one', 'two'])).code).toBe(2);
  const missing = await start([join(user.home, 'missing')]);
  expect(missing.code).toBe(2);
  expect(missing.stderr).toContain('missing is not a folder');
  expect(await start(['--help'])).toMatchObject({ code: 0, stderr: '' });
});

test('a missing program is named in one sentence that says what to do', async () => {
  const base = ['env', 'bash', 'dirname', 'readlink', 'id', 'stat'];
  const withoutNode = await start([], pathWith(base));
  expect(withoutNode).toMatchObject({ code: 1, stdout: '' });
  expect(withoutNode.stderr).toMatch(/^mend: Node\.js was not found; install [^\n]*\n$/);
  const withoutGit = await start([], pathWith([...base, 'node']));
  expect(withoutGit).toMatchObject({ code: 1, stdout: '' });
  expect(withoutGit.stderr).toMatch(/^mend: Git was not found; install [^\n]*\n$/);
  const withoutFuse = await start([], pathWith([...base, 'node', 'git']));
  expect(withoutFuse.code).toBe(1);
  expect(withoutFuse.stderr).toMatch(/mend: these packages are missing: fuse3; install [^\n]*\n$/);
});

test('a Node.js that is too old is refused, one that is new enough is not', async () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  for (const [wanted, code] of [
    [`${major} ${minor}`, 0],
    [`${major - 1} 99`, 0],
    [`${major} ${minor + 1}`, 1],
    [`${major + 1} 0`, 1],
  ] as const) {
    const result = await setUpStep(`need_node ${wanted}`);
    expect(result.code).toBe(code);
    expect(result.stderr).toMatch(code === 0 ? /^$/ : /^mend: Node\.js v\S+ is too old; install /);
  }
});

test.runIf(isRoot)('who is not root is told the command that installs what is missing', async () => {
  const person = throwAwayUser();
  try {
    const copy = join(person.home, 'lib.sh');
    cpSync(join(checkout, 'scripts/lib.sh'), copy);
    chmodSync(copy, 0o644);
    const result = await person.run(['bash', '--norc', '-uc', `. ${copy}; apt_install fuse3 g++`]);
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/run: sudo apt-get install --no-install-recommends fuse3 g\+\+\n$/);
  } finally {
    await person.remove();
  }
});

test.runIf(isRoot)('a checkout of somebody else that is not built is left alone, and the owner named', async () => {
  const foreign = mkdtempSync(join(inject('runFolder'), 'checkout-'));
  chmodSync(foreign, 0o755);
  for (const part of ['scripts', 'package.json', 'package-lock.json', 'native/mend.c', 'native/binding.gyp']) {
    mkdirSync(join(foreign, part, '..'), { recursive: true });
    cpSync(join(checkout, part), join(foreign, part), { recursive: true });
  }
  const person = throwAwayUser();
  try {
    const result = await person.run([join(foreign, 'scripts/start')]);
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/holds no complete build; ask root to run \S+\/scripts\/start/);
  } finally {
    await person.remove();
  }
});
