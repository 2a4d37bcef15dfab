import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesWith } from '../cli/store-files.js';
import { frozen, headsOf } from '../store/frozen.js';
import { programPath } from '../support/program.js';
import { isRoot } from '../support/users.js';
import { fill, onSmallDisk } from './small-disk.js';
import { type Stage, staged, until } from './stage.js';

const FULL = /^mend: the disk with the store \S+ is full: make room and try again\n$/;
const SECRET = 'xyzzy-plugh-4711';

/** Runs mend, whatever comes of it. */
const tried = (stage: Stage, ...args: string[]) =>
  stage.user.run([process.execPath, programPath(), ...args], {
    cwd: stage.repository,
    env: { MEND_STORE_DIR: stage.store },
  });

describe.runIf(isRoot)('a disk that is full (only root can make a small one)', () => {
  test(
    'a save that has to be merged, and a purge, are done or refused whole, and done once there is room',
    onSmallDisk(90, async (stage, folder, filler) => {
      const [agent, big] = [await stage.agent(), await stage.agent()];
      const path = `${folder}/lines.md`;
      await stage.sh('seq -f "line %.0f" 20000 >"$1"; echo "$2" >"$3/secret.md"', path, SECRET, folder);
      await agent.run((fs, own, file) => {
        const text = fs.readFileSync(file, 'utf8');
        own['fd'] = fs.openSync(file, 'w');
        fs.writeSync(own['fd'], `mine\n${text}`);
      }, path);
      await stage.sh('echo theirs >>"$1"', path);
      await fill(stage, big, folder, filler);
      // The text is in the store; what is made of it and of the others' has no room.
      expect(await agent.code((fs, own) => fs.closeSync(own['fd'] ?? -1))).toBe('ENOSPC');
      const ends = (): Promise<string> => stage.sh('head -n 1 "$1"; tail -n 1 "$1"', path);
      expect(await ends()).toBe('line 1\ntheirs\n');
      const refused = await tried(stage, 'memory', 'purge', 'secret.md', '--confirm', 'secret.md');
      if (refused.code !== 0) {
        expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(FULL) });
        expect(await stage.sh('cat "$1/secret.md"', folder)).toBe(`${SECRET}\n`);
      }
      await stage.sh('rm "$1"', filler);
      if (refused.code !== 0) await stage.mend(['memory', 'purge', 'secret.md', '--confirm', 'secret.md']);
      expect(filesWith(stage.store, SECRET)).toEqual([]);
      await stage.mend(['unmount', '--all', '--force']);
      await until(async () => (await stage.status()).pid === null, 'the daemon to end');
      await stage.mount();
      expect(await ends()).toBe('line 1\ntheirs\n');
      const [kept = ''] = await stage.contents('lines.md', 'interrupted');
      expect(kept.slice(0, 12)).toBe('mine\nline 1\n');
      await stage.mend(['store', 'check']);
    }),
    120_000,
  );

  test(
    'a store of an earlier schema stays as it is where there is no room for its backup, and is upgraded once there is',
    staged(60, async (stage) => {
      const { uid, gid } = stage.user;
      const file = join(stage.store, 'store.db');
      const sum = (): string => createHash('sha256').update(readFileSync(file)).digest('hex');
      await stage.sh('git -C "$1" remote add origin git@example.org:ada/garden.git', stage.repository);
      mkdirSync(stage.store);
      execFileSync('mount', [
        '-t',
        'tmpfs',
        '-o',
        `size=40m,mode=700,uid=${uid},gid=${gid}`,
        'mend-small',
        stage.store,
      ]);
      try {
        const thaw = ['sh', '-c', 'umask 077; cat > "$0"', file] as const;
        expect(await stage.user.run(thaw, { input: readFileSync(frozen(1)) })).toMatchObject({ code: 0 });
        const before = sum();
        // Room for the index of a log, and for less than a copy of the store.
        await stage.sh('dd if=/dev/zero of="$1/full" bs=4k 2>/dev/null || test -s "$1/full"', stage.store);
        await stage.sh('truncate -s -65536 "$1/full"', stage.store);
        for (const command of [['mount'], ['memory']])
          expect((await stage.mend(command, { status: 1 })).stderr).toMatch(FULL);
        expect(sum()).toBe(before);
        expect(readdirSync(stage.store).filter((name) => name.includes('.backup'))).toEqual([]);
        await stage.sh('rm "$1/full"', stage.store);
        const folder = await stage.mount();
        expect(await stage.sh('cat "$1/plan.json"', folder)).toBe(headsOf(1)['plan.json']);
        expect(readdirSync(stage.store)).toContain('store.db.schema-1.backup');
        await stage.mend(['store', 'check']);
      } finally {
        execFileSync('umount', ['--lazy', stage.store]);
      }
    }),
    90_000,
  );
});
