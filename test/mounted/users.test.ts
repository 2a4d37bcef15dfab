import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { programPath } from '../support/program.js';
import { currentUser, isRoot, throwAwayUser } from '../support/users.js';
import { Agent } from './agent.js';
import { type Stage, staged } from './stage.js';

/** What a person who is not the owner is told of each way in, by name of the call. */
const refusals = {
  stat: 'EACCES',
  open: 'EACCES',
  readdir: 'EACCES',
  'stat of a file': 'EACCES',
  write: 'EACCES',
  mkdir: 'EACCES',
  unlink: 'EACCES',
  // The kernel answers for the file system, without a number of it.
  statfs: '0 blocks, 0 files',
};

/** Tries every way in, in this process or in another: it must not name anything but its arguments. */
function tryEverything(files: typeof fs, _: unknown, folder: string): Record<string, string> {
  const codes: Record<string, string> = {};
  const attempt = (name: string, work: () => unknown) => {
    try {
      codes[name] = String(work() ?? 'done');
    } catch (error) {
      codes[name] = (error as NodeJS.ErrnoException).code ?? String(error);
    }
  };
  attempt('stat', () => files.statSync(folder));
  attempt('open', () => files.readFileSync(`${folder}/note.md`));
  attempt('readdir', () => files.readdirSync(folder));
  attempt('stat of a file', () => files.statSync(`${folder}/note.md`));
  attempt('write', () => files.writeFileSync(`${folder}/note.md`, 'overwritten'));
  attempt('mkdir', () => files.mkdirSync(`${folder}/sub`));
  attempt('unlink', () => files.unlinkSync(`${folder}/note.md`));
  attempt('statfs', () => {
    const { blocks, files: names } = files.statfsSync(folder);
    return `${blocks} blocks, ${names} files`;
  });
  return codes;
}

/** Lets everybody walk down to the mount, so that only the mount itself refuses them. */
async function openTheWay(stage: Stage, folder: string): Promise<void> {
  for (let at = dirname(folder); at.startsWith(stage.user.home); at = dirname(at)) await stage.sh('chmod 755 "$1"', at);
}

/** The flags and options of a mount, as the kernel tells them. */
function optionsOf(point: string): { flags: string[]; superOptions: string[] } {
  const line = fs
    .readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .find((text) => text.split(' ')[4] === point);
  const [before = '', after = ''] = (line ?? '').split(' - ');
  return { flags: before.split(' ')[5]?.split(',') ?? [], superOptions: after.split(' ')[2]?.split(',') ?? [] };
}

describe.runIf(isRoot)('several users (only root can make them)', () => {
  test(
    "an ordinary user's mount: the owner gets in, root and a second user are refused",
    staged(40, async (stage) => {
      const folder = await stage.mount();
      await stage.sh('echo private >"$1/note.md"', folder);
      await openTheWay(stage, folder);
      const other = throwAwayUser();
      try {
        const stranger = await Agent.start(other);
        const around = await stranger.run((files, _, path) => files.readdirSync(path), dirname(folder));
        expect(around).toEqual(['memory']);
        expect(await stranger.run(tryEverything, folder)).toEqual(refusals);
      } finally {
        await other.remove();
      }
      expect(tryEverything(fs, undefined, folder)).toEqual(refusals);
      expect(await stage.sh('cat "$1/note.md"; ls -A "$1"', folder)).toBe('private\nnote.md\n');
    }),
    70_000,
  );

  test(
    "root's own mount: root gets in, an ordinary user is refused",
    staged(
      40,
      async (stage) => {
        const folder = await stage.mount();
        await stage.sh('echo private >"$1/note.md"', folder);
        await openTheWay(stage, folder);
        expect(fs.readFileSync(join(folder, 'note.md'), 'utf8')).toBe('private\n');
        const other = throwAwayUser();
        try {
          const stranger = await Agent.start(other);
          expect(await stranger.run(tryEverything, folder)).toEqual(refusals);
        } finally {
          await other.remove();
        }
        expect(fs.statSync(join(folder, 'note.md'))).toMatchObject({ uid: 0, gid: 0 });
        await stage.mend(['unmount']);
        expect(fs.readFileSync(join(folder, 'note.md'), 'utf8')).toBe('private\n');
      },
      currentUser,
    ),
    70_000,
  );

  test('two users on one repository have stores, daemons and memory of their own', async () => {
    const repository = fs.mkdtempSync(join(inject('runFolder'), 'shared-repository-'));
    fs.chmodSync(repository, 0o755);
    const users = [throwAwayUser(), throwAwayUser()];
    try {
      const pids: number[] = [];
      for (const [index, user] of users.entries()) {
        const mend = [process.execPath, programPath()];
        const script = `
          git config --global --add safe.directory "*"
          cd "$1"; shift
          "$@" mount; (cd "$HOME"/.claude/projects/*/memory; echo "of $(id -un)" >note.md)
          "$@" memory show note.md; "$@" status --json`;
        if (index === 0) {
          const made = await currentUser().run(['git', 'init', '-q', repository]);
          expect(made.code).toBe(0);
        }
        const done = await user.run(['sh', '-euc', script, 'sh', repository, ...mend]);
        expect(done, done.stderr).toMatchObject({ code: 0 });
        const [mounted, text, ...status] = done.stdout.split('\n');
        expect(mounted).toContain(`mounted ${user.home}/`);
        expect(text).toBe(`of ${user.name}`);
        const { pid, store, mounts } = JSON.parse(status.join('\n')) as {
          pid: number;
          store: { path: string };
          mounts: { path: string }[];
        };
        expect(store.path).toBe(join(user.home, '.local/share/mend', String(user.uid), 'store.db'));
        expect(fs.statSync(store.path)).toMatchObject({ uid: user.uid, gid: user.gid });
        expect(mounts).toHaveLength(1);
        pids.push(pid);
      }
      expect(new Set(pids).size).toBe(2);
      for (const [index, user] of users.entries()) {
        const { stdout } = await user.run(['sh', '-c', 'cat "$HOME"/.claude/projects/*/memory/note.md']);
        expect(stdout).toBe(`of ${users[index]?.name}\n`);
      }
    } finally {
      for (const user of users) await user.remove();
    }
  }, 60_000);
});

test(
  'the mount is nosuid, nodev and noexec, without allow_other, and modes in it are 0700 and 0600',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    const { flags, superOptions } = optionsOf(folder);
    expect(flags).toEqual(expect.arrayContaining(['nosuid', 'nodev', 'noexec']));
    expect(superOptions).toContain(`user_id=${stage.user.uid}`);
    expect(superOptions).not.toContain('allow_other');
    const script = `cd "$1"; umask 000
      mkdir sub; printf '#!/bin/sh\\n' >sub/run.sh; chmod 777 sub sub/run.sh; chmod 4755 sub/run.sh
      stat -c '%a %n' . sub sub/run.sh`;
    expect(await stage.sh(script, folder)).toBe('700 .\n700 sub\n600 sub/run.sh\n');
    const ran = await stage.user.run([join(folder, 'sub/run.sh')]).then(
      () => 'ran',
      (error: NodeJS.ErrnoException) => error.code,
    );
    expect(isRoot || ran === 'EACCES').toBe(true);
    const shell = await stage.user.run(['sh', '-c', '"$1"', 'sh', join(folder, 'sub/run.sh')]);
    expect([shell.code, shell.stderr]).toEqual([126, expect.stringContaining('Permission denied')]);
  }),
  70_000,
);

test(
  'the store is a folder 0700 with files 0600, whatever the umask of who mounts',
  staged(40, async (stage) => {
    const script = `umask 000; cd "$1"; export MEND_STORE_DIR="$2"; shift 2
      "$@" mount >/dev/null; (cd "$HOME"/.claude/projects/*/memory; echo text >note.md); "$@" memory >/dev/null`;
    await stage.sh(script, stage.repository, stage.store, process.execPath, programPath());
    const modes = await stage.sh('cd "$1"; find . -printf "%y %m\\n" | sort -u; test -e store.db-wal', stage.store);
    for (const line of modes.trim().split('\n')) expect(['d 700', 'f 600', 's 600', 's 700']).toContain(line);
    expect(modes).toContain('d 700\nf 600\n');
    const parents = await stage.sh(
      'stat -c %a "$HOME/.claude" "$HOME/.claude/projects" "$HOME/.claude/projects/"*',
      '',
    );
    expect(parents).toBe('700\n700\n700\n');
  }),
  70_000,
);
