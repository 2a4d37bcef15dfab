import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectRefusal, memoryFolder } from '../cli/person.js';
import { Machine } from '../support/machine.js';
import { securityTable } from '../support/security-table.js';
import { isRoot, type TestUser } from '../support/users.js';
import { ATTEMPTS, attemptAll, type Target } from './cross-access.js';

const ways = securityTable('Another user, and root');
const refusals = securityTable('What mend refuses');

test('every way in of the page is tried, and no other', () => {
  expect(Object.keys(ATTEMPTS)).toEqual([...ways.keys()]);
  for (const [, results] of ways) expect(results).toHaveLength(2);
});

describe.runIf(isRoot)('several users (only root can make them)', () => {
  let machine: Machine;
  let ann: TestUser;
  let eve: TestUser;
  let checkout: string;
  let at: Target;
  const tried = new Set<string>();

  const mend = (user: TestUser, args: string[], env: Record<string, string> = {}) =>
    machine.mend(args, user, checkout, env);
  /** A line of the second table. */
  const refused = (attempt: string, work: (result: string) => Promise<void>): void => {
    tried.add(attempt);
    test(attempt, () => work(refusals.get(attempt)?.[0] ?? 'not on the page'), 150_000);
  };

  beforeAll(async () => {
    machine = await Machine.open(2);
    [ann, eve] = machine.people as [TestUser, TestUser];
    checkout = await machine.shareCheckout();
    expect(await machine.mend(['admin', 'enable', ann.name, eve.name])).toMatchObject({ code: 0 });
    expect(await mend(ann, ['mount'])).toMatchObject({ code: 0 });
    const mount = memoryFolder(ann.home, checkout);
    await machine.sh(
      ann,
      'echo private >"$1/note.md"; chmod 711 "$HOME" "$HOME/.claude" "$HOME/.claude/projects" "$1/.."',
      mount,
    );
    expect(await mend(ann, ['store', 'backup'])).toMatchObject({ code: 0 });
    const { pid } = JSON.parse((await mend(ann, ['status', '--json'])).stdout) as { pid: number };
    const store = `/var/lib/mend/${ann.uid}`;
    const [backup = '', socket = ''] = (
      await machine.sh(machine.root, 'echo "$1"/*.backup; echo "$1"/run/*.sock', store)
    ).split('\n');
    const { uid, gid } = ann;
    at = { uid, gid, mount, pid, store, socket, backup, people: '/var/lib/mend/people' };
  }, 200_000);

  afterAll(() => machine?.close(), 150_000);

  refused("use another's store with MEND_STORE_DIR", async (result) => {
    expect(result).toBe('refused: it belongs to the other user');
    for (const args of [['memory'], ['mount'], ['status'], ['store', 'check'], ['store', 'backup', '/tmp']]) {
      const ended = await mend(eve, args, { MEND_STORE_DIR: at.store });
      expectRefusal(ended, 1, new RegExp(`the store folder \\S+ belongs to user ${ann.uid}, not to you`));
    }
  });

  refused("use another's store with MEND_STORE_DIR, as root", async (result) => {
    expect(result).toBe('refused: it belongs to the other user');
    for (const args of [['memory'], ['mount'], ['status'], ['store', 'check'], ['store', 'backup', '/tmp']]) {
      const ended = await mend(machine.root, args, { MEND_STORE_DIR: at.store });
      expectRefusal(ended, 1, new RegExp(`the store folder \\S+ belongs to user ${ann.uid}, not to you`));
    }
  });

  refused('mount over the memory folder of another', async (result) => {
    expect(result).toBe('refused: it is mounted already');
    const ended = await mend(eve, ['mount'], { CLAUDE_CONFIG_DIR: join(ann.home, '.claude') });
    expectRefusal(ended, 1, /cannot mount on \S+: it is mounted already, by a mend that serves another store/);
  });

  refused('mount over the memory folder of another that is not mounted', async (result) => {
    expect(result).toBe('refused: it belongs to the other user');
    const plain = memoryFolder(ann.home, eve.home);
    await machine.sh(ann, 'mkdir -p "$1"; chmod 755 "$1" "$1/.."', plain);
    const ended = await machine.mend(['mount'], eve, eve.home, { CLAUDE_CONFIG_DIR: join(ann.home, '.claude') });
    expectRefusal(ended, 1, new RegExp(`cannot mount on \\S+: it belongs to user ${ann.uid}, not to you`));
  });

  /** A folder that eve makes and everybody reaches, with a store of hers in it. */
  const plant = async (): Promise<string> => {
    const folder = `${checkout}/planted`;
    await mend(eve, ['mount'], { MEND_STORE_DIR: folder });
    expect(await mend(eve, ['unmount', '--all'], { MEND_STORE_DIR: folder })).toMatchObject({ code: 0 });
    return folder;
  };

  refused('have a user use a store that another planted', async (result) => {
    expect(result).toBe('refused: it belongs to the other user');
    const folder = await plant();
    for (const mode of ['0700', '0777']) {
      await machine.sh(eve, 'chmod "$2" "$1"; chmod 666 "$1"/store.db', folder, mode);
      for (const args of [['memory'], ['mount']]) {
        const ended = await mend(ann, args, { MEND_STORE_DIR: folder });
        expectRefusal(ended, 1, new RegExp(`the store folder \\S+ belongs to user ${eve.uid}, not to you`));
      }
    }
    await machine.sh(machine.root, 'chown "$2" "$1"; chmod 700 "$1"', folder, ann.name);
    expectRefusal(
      await mend(ann, ['memory'], { MEND_STORE_DIR: folder }),
      1,
      new RegExp(`the store \\S+ belongs to user ${eve.uid}, not to you`),
    );
    await machine.sh(machine.root, 'rm -r "$1"', folder);
  });

  refused('have a user use a store whose folder others may enter', async (result) => {
    expect(result).toBe('refused: others may enter it');
    await machine.sh(ann, 'chmod 711 "$1"', at.store);
    expectRefusal(await mend(ann, ['memory']), 1, /others may enter the store folder/);
    await machine.sh(ann, 'chmod 700 "$1"', at.store);
  });

  refused('have a user use a store that others may read', async (result) => {
    expect(result).toBe('refused: others may read it');
    await machine.sh(ann, 'chmod 640 "$1"/store.db', at.store);
    expectRefusal(await mend(ann, ['memory']), 1, /others may read the store/);
    await machine.sh(ann, 'chmod 600 "$1"/store.db', at.store);
  });

  refused("have a user's store be a symbolic link to another file", async (result) => {
    expect(result).toBe('refused: it is no regular file');
    const folder = `${ann.home}/linked`;
    await machine.sh(ann, 'mkdir -m 700 "$1"; ln -s "$2" "$1"/store.db', folder, `${at.store}/store.db`);
    for (const args of [['memory'], ['store', 'check'], ['store', 'backup', '/tmp']])
      expectRefusal(await mend(ann, args, { MEND_STORE_DIR: folder }), 1, /the store \S+ is not a regular file/);
  });

  refused("have a user's folder for stores be a symbolic link", async (result) => {
    expect(result).toBe('refused: it is no folder');
    const folder = `${ann.home}/link`;
    await machine.sh(ann, 'ln -s "$2" "$1"', folder, at.store);
    for (const args of [['memory'], ['mount']])
      expectRefusal(await mend(ann, args, { MEND_STORE_DIR: folder }), 1, /the store folder \S+ is not a folder/);
  });

  refused("have a user's memory folder be a symbolic link", async (result) => {
    expect(result).toBe('refused: it is a symbolic link');
    const folder = memoryFolder(eve.home, checkout);
    await machine.sh(
      eve,
      'mkdir -p "$(dirname "$1")"; rm -rf "$1"; mkdir -p "$2"; ln -s "$2" "$1"',
      folder,
      `${eve.home}/elsewhere`,
    );
    expectRefusal(await mend(eve, ['mount']), 1, /cannot mount on \S+: it is a symbolic link/);
    await machine.sh(eve, 'rm "$1"', folder);
  });

  const TRAP = `
    trap="$1/.git/trap.sh"; printf '#!/bin/sh\\ntouch "%s/.git/ran-$(id -u)"\\n' "$1" >"$trap"; chmod 755 "$trap"`;
  const ran = (): Promise<string> =>
    machine.sh(ann, 'cd "$1/.git"; ls | grep "^ran-" || echo nothing; rm -f ran-*', checkout);
  const useEverything = async (): Promise<void> => {
    for (const args of [
      ['mount'],
      ['status'],
      ['memory'],
      ['project'],
      ['adopt'],
      ['memory', 'import', '--dry-run'],
      ['env', 'claude'],
      ['doctor'],
    ]) {
      const { code, stderr } = await mend(ann, args);
      expect([0, 3], `${args.join(' ')}: ${stderr}`).toContain(code);
    }
  };

  refused('run a program from the Git settings of a shared checkout', async (result) => {
    expect(result).toBe('nothing of it is run');
    const set = [
      'core.fsmonitor',
      'core.pager',
      'core.editor',
      'core.sshCommand',
      'core.askPass',
      'core.gitProxy',
      'credential.helper',
      'diff.external',
      'gpg.program',
      'pager.config',
      'pager.rev-parse',
      'pager.remote',
      'sequence.editor',
      'filter.x.clean',
      'filter.x.smudge',
      'uploadpack.packObjectsHook',
    ];
    const aliases = ['rev-parse', 'config', 'remote', 'status'];
    await machine.sh(
      eve,
      `${TRAP}; cd "$1"; echo "* filter=x" >.git/info/attributes; git config core.pager "$trap"
      git remote add origin 'ext::'"$trap"
      for name in ${set.join(' ')}; do git config "$name" "$trap"; done
      for name in ${aliases.join(' ')}; do git config "alias.$name" "!$trap"; done`,
      checkout,
    );
    await useEverything();
    expect(await ran()).toBe('nothing\n');
    // The trap is one: Git itself falls into it.
    await machine.sh(ann, 'cd "$1"; git status >/dev/null', checkout);
    expect(await ran()).toBe(`ran-${ann.uid}\n`);
    await machine.sh(
      eve,
      'cd "$1"; git init -q --shared=group fresh; cp fresh/.git/config .git/config; rm -r fresh',
      checkout,
    );
  });

  refused('run a program from hooks of a shared checkout', async (result) => {
    expect(result).toBe('nothing of it is run');
    await machine.sh(
      eve,
      `${TRAP}; cd "$1/.git/hooks"
      for name in post-checkout pre-commit post-index-change reference-transaction fsmonitor-watchman pre-auto-gc; do cp "$trap" "$name"; done`,
      checkout,
    );
    await useEverything();
    expect(await ran()).toBe('nothing\n');
    await machine.sh(
      ann,
      'cd "$1"; git -c user.name=n -c user.email=n@example.org commit -q --allow-empty -m one',
      checkout,
    );
    expect(await ran()).toBe(`ran-${ann.uid}\n`);
    await machine.sh(machine.root, 'rm "$1"/.git/hooks/*', checkout);
  });

  refused('read an export or a backup of another in a shared folder', async (result) => {
    expect(result).toBe('EACCES, whatever the umask was');
    await machine.sh(
      ann,
      `umask 000; cd "$1"; shift; mkdir open; mkdir -m 1777 sticky; out=$PWD; cd "$out"
      "$@" memory export "$out/folder"; "$@" memory export "$out/open"; "$@" memory export "$out/notes.tar"
      "$@" memory export "$out/notes.tgz"; "$@" store backup "$HOME/kept.db"; umask 077; "$@" memory export - >"$out/pipe.tar"`,
      checkout,
      ...machine.command,
    );
    const files = ['folder', 'open/note.md', 'notes.tar', 'notes.tgz', 'pipe.tar'].map((name) => `${checkout}/${name}`);
    for (const file of [...files, `${ann.home}/kept.db`]) {
      expect(
        await machine.sh(
          eve,
          'if cat "$1" >/dev/null 2>&1 || ls "$1"/* >/dev/null 2>&1; then echo read; else echo refused; fi',
          file,
        ),
      ).toBe('refused\n');
      expect(await machine.sh(ann, 'stat -c %A "$1"', file)).toMatch(/^.rw.--[S-]---\n$|^d...--[sS-]---\n$/);
    }
    // A backup in a folder in which others could exchange it is refused.
    expectRefusal(await mend(ann, ['store', 'backup', checkout]), 1, /others/);
  });

  test('every refusal of the page is tried, and no other', () => {
    expect([...tried]).toEqual([...refusals.keys()]);
  });

  describe('what the page says comes of an attempt', () => {
    let others: Record<string, string>;
    let root: Record<string, string>;

    beforeAll(async () => {
      others = await attemptAll(eve, at);
      expect(await machine.sh(ann, 'cat "$1"/note.md', at.mount)).toBe('private\n');
      root = await attemptAll(machine.root, at);
      expect(await mend(ann, ['mount'])).toMatchObject({ code: 0 });
      expect(await machine.sh(ann, 'cat "$1"/note.md', at.mount)).toBe('private\n');
    }, 150_000);

    test.each([...ways])('%s', (attempt, results) => {
      expect([others[attempt], root[attempt]]).toEqual(results);
    });
  });
});
