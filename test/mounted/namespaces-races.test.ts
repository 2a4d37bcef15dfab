import { describe, expect, test } from 'vitest';
import { isRoot } from '../support/users.js';
import type { Agent } from './agent.js';
import { twice } from './two-namespaces.js';
import { withStore } from './with-store.js';

const ROUNDS = 200;

/** How often each kind of failure came. */
type Failures = Record<string, number>;

describe.runIf(isRoot)('two daemons that change the same names at once (only root can make mount namespaces)', () => {
  test.each([
    ['a temporary file', 'MEMORY.md.tmp.'],
    ['another note', 'next-'],
  ])(
    '%s renamed over one note, 200 times in each: no call fails, and the history is whole',
    (_, prefix) =>
      twice(90, async (here, there) => {
        const folder = await here.mount();
        await there.mount();
        const save = (agent: Agent, who: string): Promise<Failures> =>
          agent.run(
            (fs, _own, dir, start, name, rounds) => {
              const failures: Record<string, number> = {};
              for (let round = 0; round < rounds; round++) {
                const temporary = `${dir}/${start}${name}.${round}`;
                try {
                  fs.writeFileSync(temporary, `${name} ${round}\n`, { flag: 'wx' });
                  fs.renameSync(temporary, `${dir}/MEMORY.md`);
                } catch (error) {
                  const { code, syscall } = error as NodeJS.ErrnoException;
                  failures[`${syscall} ${code}`] = (failures[`${syscall} ${code}`] ?? 0) + 1;
                  fs.rmSync(temporary, { force: true });
                }
              }
              return failures;
            },
            folder,
            prefix,
            who,
            ROUNDS,
          );
        const agents = [await here.agent(), await there.agent()] as const;
        expect(await Promise.all([save(agents[0], 'here'), save(agents[1], 'there')])).toEqual([{}, {}]);
        const last = await here.sh('cat "$1/MEMORY.md"', folder);
        // Each replaced its own line, and kept the other's.
        expect(last.split('\n').sort()).toEqual(['', `here ${ROUNDS - 1}`, `there ${ROUNDS - 1}`]);
        for (const stage of [here, there]) {
          expect(await stage.sh('cd "$1"; ls -A; cat MEMORY.md; wc -c <MEMORY.md', folder)).toBe(
            `MEMORY.md\n${last}${last.length}\n`,
          );
          const log = await stage.log();
          expect(new Set(log.map(({ file, kind }) => `${file} ${kind}`))).toEqual(new Set(['MEMORY.md merged']));
          // Every save replaced another content, so each is a version, numbered without a gap.
          expect(log.map(({ version }) => version)).toEqual(
            Array.from({ length: 21 }, (__, index) => 2 * ROUNDS - index),
          );
          expect(await stage.show('MEMORY.md')).toBe(last);
          expect(await stage.show('MEMORY.md', 2 * ROUNDS)).toBe(last);
          expect((await stage.status()).mounts).toMatchObject([{ files: 1, bytes: last.length }]);
        }
      })(),
    120_000,
  );

  test(
    'folders that come and go in one while files are made in them in the other: no call fails but as POSIX says, and all is reachable',
    twice(90, async (here, there) => {
      const folder = await here.mount();
      await there.mount();
      const [maker, filler] = [await here.agent(), await there.agent()];
      const folders = maker.run(
        (fs, _, dir, rounds) => {
          const codes: Record<string, number> = {};
          for (let round = 0; round < rounds; round++) {
            for (const step of ['mkdirSync', 'rmdirSync'] as const) {
              try {
                fs[step](`${dir}/d${round % 3}`);
              } catch (error) {
                const { code, syscall } = error as NodeJS.ErrnoException;
                codes[`${syscall} ${code}`] = (codes[`${syscall} ${code}`] ?? 0) + 1;
              }
            }
          }
          // The folders are left at the end, so that a file can be made at last.
          for (const name of ['d0', 'd1', 'd2']) fs.mkdirSync(`${dir}/${name}`, { recursive: true });
          return codes;
        },
        folder,
        3 * ROUNDS,
      );
      const files = filler.run(
        (fs, _, dir, rounds) => {
          const codes: Record<string, number> = {};
          // Goes on until one file was made at least: how often a folder is there is a matter of chance.
          for (let round = 0; round < rounds || (codes['made'] === undefined && round < 50 * rounds); round++) {
            const path = `${dir}/d${round % 3}/f${round % 5}.md`;
            try {
              if (round % 4 === 0) fs.unlinkSync(path);
              else fs.writeFileSync(path, `round ${round}\n`);
              const code = round % 4 === 0 ? 'done' : 'made';
              codes[code] = (codes[code] ?? 0) + 1;
            } catch (error) {
              const { code, syscall } = error as NodeJS.ErrnoException;
              codes[`${syscall} ${code}`] = (codes[`${syscall} ${code}`] ?? 0) + 1;
            }
          }
          return codes;
        },
        folder,
        6 * ROUNDS,
      );
      const allowed = [
        ...['mkdir EEXIST', 'rmdir ENOTEMPTY', 'rmdir ENOENT'],
        ...['open ENOENT', 'unlink ENOENT', 'done', 'made'],
      ];
      const codes = await Promise.all([folders, files]);
      expect(codes.flatMap((each) => Object.keys(each)).filter((code) => !allowed.includes(code))).toEqual([]);
      expect(codes[1]).toHaveProperty('made');
      // Both see the same, a command sees the same, and what is there can be read and removed.
      const list = 'cd "$1"; find . -mindepth 1 | sort; find . -type f | sort | xargs -r cat';
      const seen = await here.sh(list, folder);
      expect(await there.sh(list, folder)).toBe(seen);
      const memory = await here.json<{ file: string }[]>(['memory']);
      const found = seen.split('\n').filter((line) => /^\.\/d\d\/f/.test(line));
      expect(memory.map(({ file }) => `./${file}`).sort()).toEqual(found);
      const unreachable = await withStore(here, (store) =>
        store.db
          .prepare(
            `SELECT name FROM node WHERE parent IS NOT NULL AND parent NOT IN
               (SELECT id FROM node WHERE parent IS NOT NULL UNION SELECT root FROM tree)`,
          )
          .all(),
      );
      expect(unreachable).toEqual([]);
      await there.sh('cd "$1"; rm -rf d0 d1 d2', folder);
      for (const stage of [here, there]) {
        expect(await stage.sh('ls -A "$1"', folder)).toBe('');
        expect((await stage.status()).mounts).toMatchObject([{ files: 0, bytes: 0 }]);
      }
    }),
    120_000,
  );
});
