import { chmodSync, chownSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { canonicalFolder } from '../../src/project/folder.js';
import { discoverRepository } from '../../src/project/repository.js';
import { gitEnv, repositoryAt, run, scratch } from './git-folder.js';

const URL = 'git@github.com:owner/app.git';
const ORIGIN = { scope: 'everywhere', value: 'github.com/owner/app' } as const;

let base: string;
beforeEach(() => {
  base = scratch();
});

const at = (...segments: string[]) => join(base, ...segments);
const discover = (folder: string, env: NodeJS.ProcessEnv = gitEnv) => discoverRepository(folder, env);
const refused = async (folder: string, env?: NodeJS.ProcessEnv): Promise<string> => {
  const error = await discover(folder, env).then(
    () => new Error('it was accepted'),
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: 'MendError' });
  return (error as Error).message;
};

describe('one repository', () => {
  it('is found from its root, a subfolder, its .git folder and through a link', async () => {
    const root = repositoryAt(at('app'), URL);
    mkdirSync(at('app', 'a', 'b'), { recursive: true });
    symlinkSync(root, at('link'));
    const expected = { kind: 'git', root, paths: [root], origin: ORIGIN };
    for (const folder of [root, `${root}/`, at('app/a/b'), at('app/.git'), at('app/.git/refs'), at('link/a')]) {
      expect(await discover(folder), folder).toEqual(expected);
    }
  });

  it('is the main one from a linked work tree', async () => {
    const root = repositoryAt(at('app'), URL);
    run(root, 'worktree', 'add', '-q', at('tree'));
    mkdirSync(at('tree/sub'));
    for (const folder of [at('tree'), at('tree/sub')]) {
      expect(await discover(folder)).toEqual({ kind: 'git', root, paths: [root], origin: ORIGIN });
    }
  });

  it('is itself without a commit and without a remote', async () => {
    const root = at('empty');
    mkdirSync(root);
    run(root, 'init', '-q', '.');
    expect(await discover(root)).toEqual({ kind: 'git', root, paths: [root], origin: null });
  });

  it('may have an odd name', async () => {
    const root = repositoryAt(at(' a "b"\n\u00e9\u{1f600} -c x'), URL);
    expect(await discover(root)).toMatchObject({ root, origin: ORIGIN });
  });
});

describe('bare repositories', () => {
  it('are themselves, from inside and from their work trees', async () => {
    repositoryAt(at('app'));
    run(base, 'clone', '-q', '--bare', at('app'), at('app.git'));
    run(at('app.git'), 'remote', 'set-url', 'origin', URL);
    run(at('app.git'), 'worktree', 'add', '-q', at('tree'));
    const root = at('app.git');
    for (const folder of [root, at('app.git/hooks'), at('tree')]) {
      expect(await discover(folder), folder).toEqual({ kind: 'git', root, paths: [root], origin: ORIGIN });
    }
  });

  it('inside the folder of another repository are not that one', async () => {
    const outer = repositoryAt(at('outer'), URL);
    run(outer, 'init', '-q', '--bare', 'inner.git');
    expect(await discover(at('outer/inner.git'))).toMatchObject({ root: at('outer/inner.git'), origin: null });
  });

  it('behind a .git file stand for the folder of that file too', async () => {
    repositoryAt(at('app'));
    mkdirSync(at('dot'));
    run(base, 'clone', '-q', '--bare', at('app'), at('dot/.bare'));
    writeFileSync(at('dot/.git'), 'gitdir: ./.bare\n');
    run(at('dot'), 'worktree', 'add', '-q', 'tree');
    const bare = at('dot/.bare');
    expect(await discover(at('dot'))).toMatchObject({ root: at('dot'), paths: [at('dot'), bare] });
    expect(await discover(at('dot/tree'))).toMatchObject({ root: bare, paths: [bare] });
  });

  it('named .git stand for the folder around them', async () => {
    repositoryAt(at('app'));
    run(base, 'clone', '-q', '--bare', at('app'), at('around/.git'));
    run(at('around'), 'worktree', 'add', '-q', at('around/tree'));
    for (const folder of [at('around'), at('around/.git'), at('around/tree')]) {
      expect(await discover(folder), folder).toMatchObject({ root: at('around'), paths: [at('around')] });
    }
  });
});

describe('other layouts', () => {
  it('a submodule is a project of its own, with its own remote', async () => {
    repositoryAt(at('library'));
    const app = repositoryAt(at('app'), URL);
    run(app, 'submodule', '--quiet', 'add', at('library'), 'lib');
    run(at('app/lib'), 'remote', 'set-url', 'origin', 'https://example.org/me/library.git');
    const root = at('app/lib');
    const origin = { scope: 'everywhere', value: 'example.org/me/library' };
    expect(await discover(root)).toEqual({ kind: 'git', root, paths: [root], origin });
    expect(await discover(app)).toMatchObject({ root: app, origin: ORIGIN });
  });

  it('a work tree of a submodule is the submodule, wherever it lies', async () => {
    repositoryAt(at('library'));
    const app = repositoryAt(at('app'), URL);
    run(app, 'submodule', '--quiet', 'add', at('library'), 'lib');
    run(at('app/lib'), 'worktree', 'add', '-q', at('tree'));
    const tree = await discover(at('tree'));
    expect(tree.origin).toEqual({ scope: 'machine', value: at('library') });
    expect(tree.root).not.toBe(app);
  });

  it('a separate .git folder stands for its work tree', async () => {
    const root = at('app');
    mkdirSync(root);
    run(base, 'init', '-q', `--separate-git-dir=${at('store')}`, root);
    run(root, 'commit', '-q', '--allow-empty', '-m', 'first');
    run(root, 'worktree', 'add', '-q', at('tree'));
    expect(await discover(root)).toMatchObject({ root, paths: [root, at('store')] });
    expect(await discover(at('tree'))).toMatchObject({ root: at('store') });
  });

  it('a folder outside Git is itself', async () => {
    mkdirSync(at('notes'));
    symlinkSync(at('notes'), at('link'));
    const expected = { kind: 'folder', root: at('notes'), paths: [at('notes')], origin: null };
    expect(await discover(at('notes'))).toEqual(expected);
    expect(await discover(at('link'))).toEqual(expected);
  });
});

describe('origin', () => {
  const originOf = async (root: string, env?: NodeJS.ProcessEnv) => (await discover(root, env)).origin;

  it('is the first URL of several, and no other remote', async () => {
    const root = repositoryAt(at('app'), URL);
    run(root, 'remote', 'set-url', '--add', 'origin', 'https://example.org/mirror/app');
    run(root, 'remote', 'set-url', '--push', 'origin', 'https://example.org/push/app');
    expect(await originOf(root)).toEqual(ORIGIN);
    const other = repositoryAt(at('other'));
    run(other, 'remote', 'add', 'upstream', URL);
    expect(await originOf(other)).toBeNull();
  });

  it('expands an abbreviation, and keeps a full URL although this machine goes another way', async () => {
    const config = at('gitconfig');
    writeFileSync(
      config,
      '[url "https://github.com/"]\n\tinsteadOf = gh:\n[url "http://127.0.0.1:4242/"]\n\tinsteadOf = https://example.org/\n',
    );
    const env = { ...gitEnv, GIT_CONFIG_GLOBAL: config };
    expect(await originOf(repositoryAt(at('app'), 'gh:owner/app'), env)).toEqual(ORIGIN);
    expect(await originOf(repositoryAt(at('b'), 'https://example.org/a/b'), env)).toMatchObject({
      scope: 'everywhere',
      value: 'example.org/a/b',
    });
  });

  it('expands the longest of several abbreviations, and not one for pushes', async () => {
    const config = at('gitconfig');
    const abbreviation = (base: string, key: string, short: string) => `[url "${base}"]\n\t${key} = ${short}\n`;
    writeFileSync(
      config,
      abbreviation('https://example.org/', 'insteadOf', 'work:') +
        abbreviation('https://github.com/owner/', 'insteadOf', 'work:mine/') +
        abbreviation('https://example.org/push/', 'pushInsteadOf', 'work:'),
    );
    const env = { ...gitEnv, GIT_CONFIG_GLOBAL: config };
    expect(await originOf(repositoryAt(at('app'), 'work:mine/app.git'), env)).toEqual(ORIGIN);
    const other = await originOf(repositoryAt(at('b'), 'work:team/app'), env);
    expect(other).toEqual({ scope: 'everywhere', value: 'example.org/team/app' });
    expect(await originOf(at('b'))).toEqual({ scope: 'everywhere', value: 'work/team/app' });
  });

  it('is none once it is removed or has another name, and read anew each time', async () => {
    const root = repositoryAt(at('app'), URL);
    run(root, 'remote', 'rename', 'origin', 'upstream');
    expect(await originOf(root)).toBeNull();
    run(root, 'remote', 'rename', 'upstream', 'origin');
    expect(await originOf(root)).toEqual(ORIGIN);
    run(root, 'config', 'remote.origin.url', '');
    expect(await originOf(root)).toBeNull();
    run(root, 'remote', 'remove', 'origin');
    expect(await originOf(root)).toBeNull();
  });

  it('that is a folder is that repository, on this machine only', async () => {
    const app = repositoryAt(at('app'));
    run(base, 'clone', '-q', app, at('clone'));
    run(base, 'clone', '-q', '--bare', app, at('bare.git'));
    const machine = (value: string) => ({ scope: 'machine', value });
    expect(await originOf(at('clone'))).toEqual(machine(app));
    for (const url of ['../app', `${app}/.git`, `file://${app}`, `${app}/`]) {
      run(at('clone'), 'remote', 'set-url', 'origin', url);
      expect(await originOf(at('clone')), url).toEqual(machine(app));
    }
    run(at('clone'), 'remote', 'set-url', 'origin', at('bare'));
    expect(await originOf(at('clone'))).toEqual(machine(at('bare.git')));
    run(at('clone'), 'remote', 'set-url', 'origin', at('gone'));
    expect(await originOf(at('clone'))).toEqual(machine(at('gone')));
  });

  it('that identifies nothing is none', async () => {
    for (const [name, url] of [
      ['a', 'ext::sh -c x'],
      ['b', 'https://host/a?key=x'],
    ] as const) {
      expect(await originOf(repositoryAt(at(name), url))).toBeNull();
    }
  });
});

describe("the caller's environment", () => {
  it('cannot redirect to another repository', async () => {
    const app = repositoryAt(at('app'), URL);
    const other = repositoryAt(at('other'), 'https://example.org/me/other');
    mkdirSync(at('notes'));
    const env = {
      ...gitEnv,
      GIT_DIR: join(other, '.git'),
      GIT_WORK_TREE: other,
      GIT_COMMON_DIR: join(other, '.git'),
      GIT_CEILING_DIRECTORIES: base,
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'remote.origin.url',
      GIT_CONFIG_VALUE_0: 'https://example.org/me/injected',
    };
    expect(await discover(app, env)).toMatchObject({ root: app, origin: ORIGIN });
    expect(await discover(at('notes'), env)).toMatchObject({ kind: 'folder', root: at('notes') });
  });

  it('may speak any language', async () => {
    const env = { ...gitEnv, LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8', LANGUAGE: 'de' };
    expect(await discover(base, env)).toMatchObject({ kind: 'folder', root: base });
  });

  it('without Git is told to install it', async () => {
    expect(await refused(base, { ...gitEnv, PATH: at('nowhere') })).toMatch(/install the package "git"/);
  });
});

describe('refuses in one sentence', () => {
  it('what is missing, no folder, or a dangling link', async () => {
    writeFileSync(at('file'), '');
    symlinkSync(at('gone'), at('dangling'));
    symlinkSync(at('loop'), at('loop'));
    expect(await refused(at('gone'))).toBe(`there is no folder "${at('gone')}": check the path`);
    expect(await refused(at('dangling'))).toMatch(/there is no folder/);
    expect(await refused(at('file'))).toMatch(/is not a folder/);
    expect(await refused(at('file/sub'))).toMatch(/leads through something that is not a folder/);
    expect(await refused(at('loop'))).toMatch(/cannot be used \(ELOOP\)/);
    expect(await refused('')).toMatch(/is empty/);
    expect(await refused('a\0b')).toMatch(/cannot be used/);
  });

  it('a work tree whose repository is gone', async () => {
    const root = repositoryAt(at('app'));
    run(root, 'worktree', 'add', '-q', at('tree'));
    renameSync(root, at('moved'));
    expect(await refused(at('tree'))).toMatch(/Git cannot read the repository of .*not a git repository/);
    rmSync(at('tree/.git'));
    writeFileSync(at('tree/.git'), 'nonsense');
    expect(await refused(at('tree'))).toMatch(/invalid gitfile format/);
  });

  it.runIf(process.getuid?.() === 0)('a repository of another user', async () => {
    const root = repositoryAt(at('app'), URL);
    chownSync(root, 65534, 65534);
    chownSync(at('app/.git'), 65534, 65534);
    const message = await refused(root);
    expect(message).toMatch(new RegExp(`run: git config --global --add safe\\.directory ${root}$`));
    expect(message).toMatch(/belongs to another user/);
  });

  it.each([0o000, 0o333, 0o444])('a folder of mode %o', (mode) => {
    chmodSync(base, 0o755);
    mkdirSync(at('locked'));
    chmodSync(at('locked'), mode);
    const root = process.getuid?.() === 0;
    if (root) process.seteuid?.(65534);
    try {
      expect(() => canonicalFolder(at('locked'))).toThrow(/^you may not read the folder/);
    } finally {
      if (root) process.seteuid?.(0);
      chmodSync(at('locked'), 0o700);
    }
  });
});
