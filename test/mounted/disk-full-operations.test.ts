import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isRoot } from '../support/users.js';
import type { Agent } from './agent.js';
import { fill, onSmallDisk } from './small-disk.js';
import { gone, type Stage, staged, until } from './stage.js';

/** Kills the process that serves, and waits until another one does. */
async function killServer(stage: Stage): Promise<void> {
  const { pid } = await stage.status();
  process.kill(pid ?? 0, 'SIGKILL');
  await gone(pid ?? 0);
  await until(async () => {
    const { pid: next } = await stage.status();
    return next !== null && next !== pid;
  }, 'another server');
}

/** Each operation, with what it makes of the folder when it succeeds; a full disk may refuse it, and then nothing changes. */
const operations: readonly [name: string, work: string, done: string][] = [
  ['mkdir', 'mkdir "$1/made"', 'test -d "$1/made"'],
  ['create', 'set -C; : >"$1/created.md"', 'test -f "$1/created.md"'],
  [
    'save over',
    'cp "$2" "$1/s.md.tmp.1.0123456789ab" && mv "$1/s.md.tmp.1.0123456789ab" "$1/s.md"',
    'cmp -s "$2" "$1/s.md"',
  ],
  ['overwrite', 'cat "$2" >"$1/o.md"', 'cmp -s "$2" "$1/o.md"'],
  ['rename', 'mv "$1/r.md" "$1/renamed.md"', 'test -f "$1/renamed.md"'],
  ['truncate', 'truncate -s 2 "$1/t.md"', 'test $(stat -c %s "$1/t.md") = 2'],
  ['touch', 'touch -d @1000000000 "$1/z.md"', 'test $(stat -c %Y "$1/z.md") = 1000000000'],
  ['rmdir', 'rmdir "$1/empty"', 'test ! -e "$1/empty"'],
  ['unlink', 'rm "$1/u.md"', 'test ! -e "$1/u.md"'],
];
const files = ['s.md', 'o.md', 'r.md', 't.md', 'u.md', 'z.md'];

describe.runIf(isRoot)('a disk that is full (only root can make a small one)', () => {
  test(
    'every operation is done or refused whole, with the right errno; the mount reads on, and does all of it once there is room',
    onSmallDisk(200, async (stage, folder, filler) => {
      const text = join(stage.user.home, 'text');
      await stage.sh('head -c 300000 /dev/urandom >"$1"', text);
      await stage.sh(
        'cd "$1"; mkdir empty; for f in "$@"; do case $f in *.md) echo "old $f" >$f;; esac; done',
        folder,
        ...files,
      );
      const big = await stage.agent();
      await fill(stage, big, folder, filler);
      const refused: string[] = [];
      for (const [name, work, done] of operations) {
        const said = await stage.sh(`(${work}) 2>&1 || true`, folder, text);
        const isDone = (await stage.sh(`if ${done}; then echo yes; fi`, folder, text)) === 'yes\n';
        if (!isDone) {
          refused.push(name);
          expect(said, name).toMatch(/No space left on device/);
        }
      }
      expect(refused.length).toBeGreaterThan(0);
      // Whatever was not done left what there was.
      for (const [name, file] of [
        ['save over', 's.md'],
        ['overwrite', 'o.md'],
        ['rename', 'r.md'],
        ['truncate', 't.md'],
        ['unlink', 'u.md'],
      ] as const)
        if (refused.includes(name)) expect(await stage.show(file), name).toBe(`old ${file}\n`);
      expect(await stage.sh('ls "$1" | wc -l; cat "$1/z.md"', folder)).toMatch(/old z.md\n$/);
      await stage.mend(['status']);

      await stage.sh('rm "$1"', filler);
      await stage.sh('rm -f "$1"/*.tmp.*', folder);
      for (const [name, work, done] of operations) {
        if (!refused.includes(name)) continue;
        await stage.sh(work, folder, text);
        expect(await stage.sh(`if ${done}; then echo yes; fi`, folder, text), name).toBe('yes\n');
      }
      expect((await stage.status()).mounts).toHaveLength(1);
    }),
    280_000,
  );

  test(
    'the server dies meanwhile: another takes over, files opened before and during go on, nothing written is lost',
    onSmallDisk(240, async (stage, folder, filler) => {
      const [agent, big] = [await stage.agent(), await stage.agent()];
      await stage.sh('cd "$1"; echo one >a.md; echo two >b.md', folder);
      const open = (who: Agent, key: string, name: string, flags: string) =>
        who.run(
          (fs, own, as, path, how) => {
            own[as] = fs.openSync(path, how);
          },
          key,
          `${folder}/${name}`,
          flags,
        );
      const read = (key: string) =>
        agent.run((fs, own, as) => {
          const bytes = Buffer.alloc(100);
          return bytes.toString('utf8', 0, fs.readSync(own[as] ?? -1, bytes, 0, 100, 0));
        }, key);
      await open(agent, 'before', 'a.md', 'r');
      await open(agent, 'draft', 'draft.md', 'w');
      await agent.run((fs, own) => fs.writeSync(own['draft'] ?? -1, 'first, '));
      await fill(stage, big, folder, filler);
      // The journal of open files has no room for this one.
      for (let index = 0; index < 200; index++) await open(agent, 'during', 'b.md', 'r');
      await killServer(stage);
      expect([await read('before'), await read('during')]).toEqual(['one\n', 'two\n']);
      expect(await stage.sh('cat "$1/a.md" "$1/b.md"', folder)).toBe('one\ntwo\n');
      await killServer(stage);
      expect([await read('before'), await read('during')]).toEqual(['one\n', 'two\n']);
      await stage.sh('rm "$1"', filler);
      await agent.run((fs, own) => {
        fs.writeSync(own['draft'] ?? -1, 'second');
        fs.closeSync(own['draft'] ?? -1);
      });
      expect(await stage.sh('cat "$1/draft.md"', folder)).toBe('first, second');
      expect(await stage.kinds('draft.md')).toEqual(['saved']);
    }),
    320_000,
  );

  test(
    'everything dies meanwhile: the room that was kept lets the next daemon start, and nothing written is lost',
    onSmallDisk(90, async (stage, folder, filler) => {
      await stage.sh('echo one >"$1/a.md"', folder);
      await stage.endDaemon('SIGKILL');
      // What has to be made anew takes room.
      await stage.sh('rm "$1"/store.db-shm "$1"/run/*.journal', stage.store);
      await stage.sh('dd if=/dev/zero of="$1" bs=4k 2>/dev/null || test -s "$1"', filler);
      // That is no damage.
      const { stderr } = await stage.mend(['store', 'check'], { status: 1 });
      expect(stderr).toMatch(/^mend: the disk with the store \S+ is full: make room and try again\n$/);
      await stage.mount();
      expect(await stage.sh('cat "$1/a.md"', folder)).toBe('one\n');
      await stage.sh('rm "$1"; echo two >"$2/a.md"', filler, folder);
      expect(await stage.show('a.md')).toBe('two\n');
    }),
    120_000,
  );

  test(
    'a daemon that cannot start there says so in a sentence, and starts once there is room',
    staged(180, async (stage) => {
      const { uid, gid } = stage.user;
      mkdirSync(stage.store);
      const options = `mode=700,uid=${uid},gid=${gid}`;
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=64k,${options}`, 'mend-small', stage.store]);
      try {
        for (const size of ['64k', '256k']) {
          execFileSync('mount', ['-o', `remount,size=${size},${options}`, stage.store]);
          await stage.sh('dd if=/dev/zero of="$1/full" bs=4k 2>/dev/null || test -s "$1/full"', stage.store);
          const { stderr } = await stage.mend(['mount'], { status: 1 });
          expect(stderr).toMatch(/^mend: the disk with the store \S+ is full: make room and try again\n$/);
          await stage.sh('rm "$1/full"', stage.store);
        }
        execFileSync('mount', ['-o', `remount,size=40m,${options}`, stage.store]);
        const folder = await stage.mount();
        await stage.sh('echo text >"$1/note.md"', folder);
        await stage.mend(['unmount', '--all']);
        await until(async () => (await stage.status()).pid === null, 'the daemon to end');
        // With a store that is there, a full disk may still let it serve; else it says why.
        await stage.sh('dd if=/dev/zero of="$1/full" bs=4k 2>/dev/null || test -s "$1/full"', stage.store);
        const again = await stage.user.run(
          [process.execPath, (await import('../support/program.js')).programPath(), 'mount'],
          { cwd: stage.repository, env: { MEND_STORE_DIR: stage.store } },
        );
        if (again.code !== 0) expect(again.stderr).toMatch(/is full: make room and try again\n$/);
        await stage.sh('rm "$1/full"', stage.store);
        await stage.mount();
        expect(await stage.sh('cat "$1/note.md"', folder)).toBe('text\n');
      } finally {
        execFileSync('umount', ['--lazy', stage.store]);
      }
    }),
    260_000,
  );
});
