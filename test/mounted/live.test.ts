import { join } from 'node:path';
import { expect, test } from 'vitest';
import { leftoverMounts } from '../support/mounted.js';
import { programFolder } from '../support/program.js';
import { harnessShell, shared } from './agent.js';
import { type Stage, staged } from './stage.js';

/** Mounts the repository's memory in two homes of the user: two mounts of one tree. */
async function twoMounts(stage: Stage): Promise<[string, string]> {
  const second = join(stage.user.home, 'second');
  await stage.sh('mkdir "$1"', second);
  const folders: [string, string] = [await stage.mount(), await stage.mount({ home: second })];
  expect(leftoverMounts(stage.user.home).sort()).toEqual([...folders].sort());
  const { pid, mounts } = await stage.status();
  expect(pid).not.toBeNull();
  expect(mounts.map(({ path }) => path).sort()).toEqual([...folders].sort());
  return folders;
}

/** A program of this folder, as every user can read it. */
const program = (name: string): string => shared(name, join(import.meta.dirname, name));

interface SideReport {
  failed: number;
  failures: string[];
  counts: Record<string, number>;
}

const ROUNDS = 10_000;

test(
  `a change closed on one mount is seen by stat, list and open on the other in each of ${ROUNDS} tries`,
  staged(100, async (stage) => {
    const [one, two] = await twoMounts(stage);
    // Each side is a session of its own, as two harnesses would be.
    const script = `
      mkfifo there back
      "$1" -c '"$@"; exit $?' sh "$2" "$3" "$4" there back 0 "$6" >one.json &
      "$1" -c '"$@"; exit $?' sh "$2" "$3" "$5" back there 1 "$6" >two.json
      wait $!; cat one.json two.json`;
    const result = await stage.user.run(
      [
        'sh',
        '-euc',
        script,
        'sh',
        harnessShell(),
        process.execPath,
        program('live-side.mjs'),
        one,
        two,
        String(ROUNDS),
      ],
      { timeout: 95 },
    );
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const reports = result.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as SideReport);
    expect(reports).toHaveLength(2);
    for (const { failed, failures, counts } of reports) {
      expect(failures).toEqual([]);
      expect(failed).toBe(0);
      // Every kind of change had its turn, often.
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(ROUNDS);
      expect(Object.keys(counts)).toHaveLength(10);
      expect(Math.min(...Object.values(counts))).toBeGreaterThan(50);
    }
  }),
  130_000,
);

test(
  'what is removed from the store is gone on both mounts once the daemons were told, in each of 2,000 tries',
  staged(60, async (stage) => {
    const mounts = await twoMounts(stage);
    const args = [program('live-removal.mjs'), programFolder(), stage.store, '2000', ...mounts];
    const result = await stage.user.run([process.execPath, ...args], { cwd: '/', timeout: 55 });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(result.stdout)).toEqual({ failed: 0, failures: [] });
  }),
  90_000,
);

test(
  'when `mend memory rm` returns, the files are gone on both mounts, in each of 50 runs',
  staged(80, async (stage) => {
    const [one, two] = await twoMounts(stage);
    const agent = await stage.agent();
    const seen = (name: string) =>
      agent.run(
        (fs, _, folders, file) =>
          folders.map((folder) => [
            fs.statSync(`${folder}/${file}`, { throwIfNoEntry: false })?.size ?? null,
            fs.readdirSync(folder).includes(file),
            fs.existsSync(`${folder}/${file}`) && fs.readFileSync(`${folder}/${file}`, 'utf8'),
          ]),
        [one, two],
        name,
      );
    for (let round = 0; round < 50; round++) {
      const names = [`note-${round % 3}.md`, `other-${round % 3}.md`];
      for (const name of names)
        await agent.run((fs, _, path) => fs.writeFileSync(path, 'text'), `${round % 2 ? one : two}/${name}`);
      for (const name of names)
        expect(await seen(name)).toEqual([
          [4, true, 'text'],
          [4, true, 'text'],
        ]);
      await stage.mend(['memory', 'rm', ...names]);
      for (const name of names)
        expect(await seen(name)).toEqual([
          [null, false, false],
          [null, false, false],
        ]);
    }
  }),
  110_000,
);
