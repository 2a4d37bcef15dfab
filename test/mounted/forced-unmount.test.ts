import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { canAbort, freeMounts } from '../support/mounted.js';
import { begin, program } from './agent-work.js';
import { type Stage, staged, until } from './stage.js';

/** How long, in ms, the store is held: longer than anybody waits for it. */
const HELD = 11_000;

/** Open files that the journal of the daemon has. */
function notedHandles(stage: Stage): string[] {
  const run = join(stage.store, 'run');
  const [name = ''] = readdirSync(run).filter((each) => each.endsWith('.journal'));
  const noted = new Map<string, boolean>();
  for (const line of readFileSync(join(run, name), 'utf8').trim().split('\n')) {
    for (const [key, value] of JSON.parse(line) as [string, unknown?][]) noted.set(key, value !== undefined);
  }
  return [...noted.keys()].filter((key) => key.startsWith('h/') && noted.get(key));
}

/** Two mounts of one tree. */
async function twoMounts(stage: Stage): Promise<[string, string]> {
  const home = join(stage.user.home, 'second');
  await stage.sh('mkdir "$1"', home);
  return [await stage.mount(), await stage.mount({ home })];
}

test(
  'what a session writes through one mount goes on when another, where it has the same file open, is taken off by force',
  staged(40, async (stage) => {
    const [folder, other] = await twoMounts(stage);
    const agent = await stage.agent();
    await agent.run(
      (fs, own, one, two) => {
        fs.writeFileSync(one, 'old');
        own['elsewhere'] = fs.openSync(one, 'r+');
        own['reader'] = fs.openSync(one, 'r');
        own['fd'] = fs.openSync(two, 'w');
        fs.writeSync(own['fd'], 'first half, ');
      },
      `${folder}/note.md`,
      `${other}/note.md`,
    );
    await stage.mend(['unmount', '--force', folder]);
    await agent.run((fs, own) => {
      fs.writeSync(own['fd'] ?? -1, 'second half');
      fs.closeSync(own['fd'] ?? -1);
    });
    expect(await stage.sh('cat "$1/note.md"; stat -c " %s" "$1/note.md"', other)).toBe('first half, second half 23\n');
    expect(await stage.kinds('note.md')).toEqual(['saved', 'saved']);
    // The next draft is a new one.
    await begin(agent, `${other}/note.md`, 'third');
    await stage.mend(['unmount', '--force', other], { home: join(stage.user.home, 'second') });
    expect(await stage.contents('note.md', 'interrupted')).toEqual(['third']);
    expect(await stage.show('note.md')).toBe('first half, second half');
  }),
  70_000,
);

test(
  'a process that is killed leaves the draft that its session still writes through another mount',
  staged(40, async (stage) => {
    const [folder, other] = await twoMounts(stage);
    const agent = await stage.agent();
    await begin(agent, `${other}/note.md`, 'one, ');
    const die = `perl -e 'open(my $f, ">>", $ARGV[0]) or die; syswrite($f, "two, "); kill 9, $$' "$1" || true`;
    await program(agent, die, `${folder}/note.md`);
    await agent.run((fs, own) => {
      fs.writeSync(own['fd'] ?? -1, 'three', 10);
      fs.closeSync(own['fd'] ?? -1);
    });
    expect(await stage.sh('cat "$1/note.md"', other)).toBe('one, two, three');
    expect(await stage.kinds('note.md')).toEqual(['saved']);
  }),
  70_000,
);

test.each(canAbort() ? ['by mend', 'by the kernel'] : ['by mend'])(
  'a mount that is taken off %s while the store cannot be written leaves nothing mounted, and nothing is lost',
  (how) =>
    staged(60, async (stage) => {
      const [folder, other] = await twoMounts(stage);
      await stage.sh('echo old >"$1/note.md"', folder);
      const agent = await stage.agent();
      await begin(agent, `${folder}/note.md`, 'not closed');
      const { pid } = await stage.status();
      const holder = new Database(join(stage.store, 'store.db'));
      try {
        holder.exec('BEGIN IMMEDIATE');
        const off = how === 'by mend' ? stage.mend(['unmount', '--force', folder]) : freeMounts(folder);
        await delay(HELD);
        holder.exec('ROLLBACK');
        await off;
      } finally {
        holder.close();
      }
      const { pid: same, mounts } = await stage.status();
      expect(same).toBe(pid);
      expect(mounts.map(({ path }) => path)).toEqual([other]);
      expect(await stage.sh('cat "$1/note.md"', other)).toBe('old\n');
      await until(
        async () => (await stage.sh('cat "$1/note.md"', folder)) === 'old\n',
        'the memory to be written back',
      );
      await stage.mend(['unmount', '--all']);
      await until(async () => (await stage.status()).pid === null, 'the daemon to end');
      await stage.mount();
      expect(await stage.contents('note.md', 'interrupted')).toEqual(['not closed']);
      expect(await stage.show('note.md')).toBe('old\n');
    })(),
  90_000,
);

test(
  'a mount that is taken off while no server runs: what was unsaved in it is a version at once, and the others go on',
  staged(60, async (stage) => {
    const [folder, other] = await twoMounts(stage);
    const [agent, second] = [await stage.agent(), await stage.agent()];
    await begin(agent, `${folder}/note.md`, 'gone with its mount');
    await begin(second, `${other}/other.md`, 'goes on');
    const server = async () => (await stage.status()).pid ?? 0;
    const takeOff = async (path: string): Promise<void> => {
      const pid = await server();
      process.kill(pid, 'SIGSTOP');
      await stage.sh('fusermount3 -uz "$1"', path);
      process.kill(pid, 'SIGKILL');
    };
    await takeOff(folder);
    await until(async () => (await stage.status()).mounts.length === 1, 'another server to have one mount');
    expect(await stage.contents('note.md', 'interrupted')).toEqual(['gone with its mount']);
    expect(notedHandles(stage)).toHaveLength(1);
    expect(await agent.code((fs, own) => fs.writeSync(own['fd'] ?? -1, 'x'))).toMatch(/^(ENOTCONN|ECONNABORTED)$/);
    await second.run((fs, own) => fs.closeSync(own['fd'] ?? -1));
    expect(await stage.show('other.md')).toBe('goes on');
    // The last one, with which the daemon ends.
    await begin(second, `${other}/last.md`, 'the last of all');
    await takeOff(other);
    await until(async () => (await stage.status()).pid === null, 'the daemon to end', 20_000);
    expect(await stage.contents('last.md', 'interrupted')).toEqual(['the last of all']);
    expect(await stage.kinds('other.md')).toEqual(['saved']);
  }),
  90_000,
);
