import { describe, expect, test } from 'vitest';
import type { Agent } from './agent.js';
import { type Stage, staged } from './stage.js';

const MB = 1024 * 1024;
const BLOCK = 4096;

/** What `df` and `df -i` say: blocks of 4 KB in all and free, names in all and free. */
async function space(
  stage: Stage,
  folder: string,
): Promise<{ blocks: number; free: number; files: number; ffree: number }> {
  const words = (await stage.sh('stat -f -c "%S %b %a %c %d" "$1"', folder)).trim().split(' ').map(Number);
  const [size = 0, blocks = 0, free = 0, files = 0, ffree = 0] = words;
  expect(size).toBe(BLOCK);
  // df reckons from the same numbers.
  const df = await stage.sh(
    'df -B 4096 --output=size,avail "$1" | tail -1; df --output=itotal,iavail "$1" | tail -1',
    folder,
  );
  expect(df.trim().split(/\s+/).map(Number)).toEqual([blocks, free, files, ffree]);
  return { blocks, free, files, ffree };
}

/** Writes a file of a length, and closes it. */
function fill(agent: Agent, path: string, length: number): Promise<string | undefined> {
  return agent.code((fs, _, file, size) => fs.writeFileSync(file, Buffer.alloc(size, 'x')), path, length);
}

/** What `mend status` says of files that were refused. */
async function refused(stage: Stage): Promise<string> {
  return (await stage.mend(['status'])).stderr;
}

describe('limits (spec §3.5)', () => {
  test(
    'a file of 1 MB is taken; a byte more is EFBIG, whichever way, and the old content stays',
    staged(50, async (stage) => {
      const folder = await stage.mount();
      const agent = await stage.agent();
      const path = `${folder}/note.md`;
      expect(await fill(agent, path, MB)).toBeUndefined();
      const ways = {
        'write beyond': await agent.code(
          (fs, _, file, mb) => {
            const fd = fs.openSync(file, 'r+');
            try {
              fs.writeSync(fd, 'y', mb);
            } finally {
              fs.closeSync(fd);
            }
          },
          path,
          MB,
        ),
        append: await agent.code((fs, _, file) => fs.appendFileSync(file, 'y'), path),
        truncate: await agent.code((fs, _, file, mb) => fs.truncateSync(file, mb + 1), path, MB),
        'write far beyond': await agent.code(
          (fs, _, file, mb) => {
            const fd = fs.openSync(file, 'r+');
            try {
              fs.writeSync(fd, 'y', 40 * mb);
            } finally {
              fs.closeSync(fd);
            }
          },
          path,
          MB,
        ),
        'rename over': await agent.code(
          (fs, own, file, mb) => {
            const temporary = `${file}.tmp.1.0123456789ab`;
            fs.writeFileSync(temporary, Buffer.alloc(mb + 1, 'y'));
            try {
              fs.renameSync(temporary, file);
            } finally {
              own['left'] = fs.statSync(temporary).size;
              fs.unlinkSync(temporary);
            }
          },
          path,
          MB,
        ),
      };
      expect(ways).toEqual({
        'write beyond': 'EFBIG',
        append: 'EFBIG',
        truncate: 'EFBIG',
        'write far beyond': 'EFBIG',
        'rename over': 'EFBIG',
      });
      expect(await agent.run((_, own) => own['left'])).toBe(MB + 1);
      expect(await stage.sh('tr -d x <"$1" | wc -c; stat -c %s "$1"; ls -A "$2"', path, folder)).toBe(
        `0\n${MB}\nnote.md\n`,
      );
      expect(await stage.kinds('note.md')).toEqual(['saved']);
      expect(await refused(stage)).toMatch(/^mend: note\.md .*limit/);
    }),
    80_000,
  );

  test(
    'a new file that goes over 1 MB: nothing is saved but what fitted, and a killed one leaves nothing',
    staged(50, async (stage) => {
      const folder = await stage.mount();
      const agent = await stage.agent();
      const code = await agent.code(
        (fs, own, file, mb) => {
          own['fd'] = fs.openSync(file, 'w');
          fs.writeSync(own['fd'], Buffer.alloc(100, 'x'));
          fs.writeSync(own['fd'], Buffer.alloc(mb, 'x'), 0, mb, 100);
          fs.writeSync(own['fd'], Buffer.alloc(mb, 'x'), 0, mb, mb);
        },
        `${folder}/new.md`,
        MB,
      );
      expect(code).toBe('EFBIG');
      await agent.kill('SIGKILL');
      expect(await stage.sh('ls -A "$1"', folder)).toBe('');
      const { free, blocks } = await space(stage, folder);
      expect(free).toBe(blocks);
    }),
    80_000,
  );

  test(
    '32 MB in all: ENOSPC beyond, df says so, drafts count, and space comes back',
    staged(90, async (stage) => {
      const folder = await stage.mount();
      const agent = await stage.agent();
      expect(await space(stage, folder)).toEqual({
        blocks: (32 * MB) / BLOCK,
        free: (32 * MB) / BLOCK,
        files: 2000,
        ffree: 2000,
      });
      for (let index = 0; index < 31; index++) expect(await fill(agent, `${folder}/${index}.md`, MB)).toBeUndefined();
      expect(await space(stage, folder)).toMatchObject({ free: MB / BLOCK, ffree: 2000 - 31 });

      // A draft claims what it adds; whoever comes next finds less.
      const writer = await stage.agent();
      await writer.run(
        (fs, own, file, mb) => {
          own['fd'] = fs.openSync(file, 'w');
          fs.writeSync(own['fd'], Buffer.alloc(mb / 2, 'x'));
        },
        `${folder}/draft.md`,
        MB,
      );
      expect((await space(stage, folder)).free).toBe(MB / 2 / BLOCK);
      expect(await fill(agent, `${folder}/too-much.md`, MB)).toBe('ENOSPC');
      expect(await refused(stage)).toContain('too-much.md');
      await stage.sh('rm -f "$1/too-much.md"', folder);
      expect(await fill(agent, `${folder}/fits.md`, MB / 2)).toBeUndefined();
      await writer.run((fs, own) => fs.closeSync(own['fd'] ?? -1));
      expect((await space(stage, folder)).free).toBe(0);

      // Full: what adds a byte is refused with the old content intact, what adds none is not.
      expect(await agent.code((fs, _, file) => fs.appendFileSync(file, 'x'), `${folder}/fits.md`)).toBe('ENOSPC');
      const renamed = await agent.code((fs, _, dir) => {
        fs.writeFileSync(`${dir}/new.md.tmp.1.0123456789ab`, 'x');
        fs.renameSync(`${dir}/new.md.tmp.1.0123456789ab`, `${dir}/new.md`);
      }, folder);
      expect(renamed).toBe('ENOSPC');
      expect(await stage.sh('stat -c %s "$1/fits.md" "$1/new.md.tmp.1.0123456789ab"', folder)).toBe(`${MB / 2}\n1\n`);
      expect(await fill(agent, `${folder}/0.md`, MB)).toBeUndefined();
      expect(await agent.code((fs, _, file) => fs.truncateSync(file, 10), `${folder}/1.md`)).toBeUndefined();
      expect(await agent.code((fs, _, file) => fs.appendFileSync(file, 'x'), `${folder}/fits.md`)).toBeUndefined();

      // By rm on the mount and by the command.
      await stage.sh('rm "$1/2.md"', folder);
      await stage.mend(['memory', 'rm', '3.md', '4.md']);
      const { mounts } = await stage.status();
      expect(mounts[0]).toMatchObject({ bytes: 32 * MB - 4 * MB + 11, files: 33 - 3 });
      expect((await space(stage, folder)).free).toBe(Math.floor((4 * MB - 11) / BLOCK));
      expect(await fill(agent, `${folder}/again.md`, MB)).toBeUndefined();
    }),
    120_000,
  );

  test(
    '2,000 files: ENOSPC beyond, df -i says so, saves still work, and names come back',
    staged(90, async (stage) => {
      const folder = await stage.mount();
      const agent = await stage.agent();
      await agent.run((fs, _, dir) => {
        for (let index = 0; index < 2000; index++) fs.writeFileSync(`${dir}/${index}.md`, `${index}`);
      }, folder);
      expect(await space(stage, folder)).toMatchObject({ files: 2000, ffree: 0 });
      expect(await fill(agent, `${folder}/one-more.md`, 1)).toBe('ENOSPC');
      expect(await refused(stage)).toContain('one-more.md');
      const save = (name: string) =>
        agent.code(
          (fs, _, dir, target) => {
            const temporary = `${dir}/${target}.tmp.1.0123456789ab`;
            fs.writeFileSync(temporary, 'saved');
            try {
              fs.renameSync(temporary, `${dir}/${target}`);
            } finally {
              fs.rmSync(temporary, { force: true });
            }
          },
          folder,
          name,
        );
      // A save through a temporary replaces, and adds no name.
      expect([await save('7.md'), await save('new.md')]).toEqual([undefined, 'ENOSPC']);
      expect(await fill(agent, `${folder}/8.md`, 3)).toBeUndefined();
      expect(
        await agent.code((fs, _, dir) => fs.renameSync(`${dir}/9.md`, `${dir}/renamed.md`), folder),
      ).toBeUndefined();
      expect(await stage.sh('ls -A "$1" | wc -l; cat "$1/7.md"', folder)).toBe('2000\nsaved');
      await stage.sh('rm "$1/10.md"', folder);
      await stage.mend(['memory', 'rm', '11.md']);
      expect((await space(stage, folder)).ffree).toBe(2);
      expect([await save('new.md'), await fill(agent, `${folder}/new-too.md`, 1)]).toEqual([undefined, undefined]);
      expect((await space(stage, folder)).ffree).toBe(0);
    }),
    120_000,
  );
});
