import { describe, expect, test } from 'vitest';
import type { Agent } from './agent.js';
import { type Stage, staged } from './stage.js';

const HEAD = 'the head\n';

/** Mounts, and puts a head there that the writers that are killed must leave alone. */
async function stageHead(stage: Stage): Promise<string> {
  const folder = await stage.mount();
  await stage.sh('printf %s "$2" >"$1/note.md"', folder, HEAD);
  return folder;
}

async function expectHead(stage: Stage, folder: string): Promise<void> {
  expect(await stage.sh('cat "$1/note.md"; stat -c %s "$1/note.md"', folder)).toBe(`${HEAD}${HEAD.length}\n`);
  expect(await stage.show('note.md')).toBe(HEAD);
}

/** Ways to write and not close: what the agent does, and what the interrupted version then holds. */
const ways: [name: string, write: (agent: Agent, path: string) => Promise<void>, kept: string][] = [
  [
    'in place',
    (agent, path) =>
      agent.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'r+');
        fs.writeSync(own['fd'], 'THE', 0);
      }, path),
    'THE head\n',
  ],
  [
    'after O_TRUNC',
    (agent, path) =>
      agent.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'w');
        fs.writeSync(own['fd'], 'half of it');
      }, path),
    'half of it',
  ],
  [
    'at the end',
    (agent, path) =>
      agent.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'a');
        for (const word of ['one\n', 'two\n', 'thr']) fs.writeSync(own['fd'], word);
      }, path),
    `${HEAD}one\ntwo\nthr`,
  ],
  [
    'through two descriptors',
    (agent, path) =>
      agent.run((fs, own, file) => {
        own['one'] = fs.openSync(file, 'r+');
        own['two'] = fs.openSync(file, 'r+');
        fs.writeSync(own['one'], 'T', 0);
        fs.writeSync(own['two'], 'H', 4);
      }, path),
    'The Head\n',
  ],
];

const signals: NodeJS.Signals[] = ['SIGKILL', 'SIGTERM', 'SIGSEGV'];

describe('a writer that a signal ends', () => {
  test.each(ways)(
    '%s: what was written is an interrupted version, and the head stays',
    (_, write, kept) =>
      staged(40, async (stage) => {
        const folder = await stageHead(stage);
        for (const [index, signal] of signals.entries()) {
          const agent = await stage.agent();
          await write(agent, `${folder}/note.md`);
          await agent.kill(signal);
          await expectHead(stage, folder);
          expect([signal, await stage.kinds('note.md')]).toEqual([
            signal,
            [...Array(index + 1).fill('interrupted'), 'saved'],
          ]);
          expect(await stage.show('note.md', index + 2)).toBe(kept);
        }
        expect((await stage.status()).sessions).toEqual([]);
      })(),
    70_000,
  );

  test(
    'with only a truncation: the truncation is the interrupted version',
    staged(30, async (stage) => {
      const folder = await stageHead(stage);
      const agent = await stage.agent();
      await agent.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'w');
      }, `${folder}/note.md`);
      await agent.kill('SIGKILL');
      await expectHead(stage, folder);
      expect(await stage.contents('note.md', 'interrupted')).toEqual(['']);
    }),
    60_000,
  );

  test(
    'of a new file: its name is gone, its bytes are an interrupted version',
    staged(30, async (stage) => {
      const folder = await stageHead(stage);
      const agent = await stage.agent();
      await agent.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'wx');
        fs.writeSync(own['fd'], 'new and unfinished');
      }, `${folder}/new.md`);
      expect(await stage.sh('ls -A "$1"; cat "$1/new.md"', folder)).toBe('new.md\nnote.md\n');
      await agent.kill('SIGKILL');
      expect(await stage.sh('ls -A "$1"', folder)).toBe('note.md\n');
      expect(await stage.contents('new.md', 'interrupted')).toEqual(['new and unfinished']);
      await stage.mend(['memory', 'show', 'new.md'], { status: 1 });
      // The name is free again for who comes next.
      await stage.sh('set -C; echo whole >"$1/new.md"', folder);
      expect(await stage.kinds('new.md')).toEqual(['saved', 'interrupted']);
    }),
    60_000,
  );

  test(
    'before a rename: the target stays, and the bytes are an interrupted version of it',
    staged(40, async (stage) => {
      const folder = await stageHead(stage);
      const temporary = 'note.md.tmp.4711.0a1b2c3d4e5f';
      const other = 'note.md.tmp.whatever';
      for (const [index, signal] of signals.entries()) {
        const agent = await stage.agent();
        await agent.run(
          (fs, own, dir, ...names: string[]) => {
            for (const name of names) {
              own[name] = fs.openSync(`${dir}/${name}`, 'wx');
              fs.writeSync(own[name], `bytes of ${name}`);
            }
          },
          folder,
          temporary,
          'draft.md',
          other,
        );
        await agent.kill(signal);
        await expectHead(stage, folder);
        // Temporaries are ordinary files of this mount; any other name is memory that was not saved.
        expect(await stage.sh('cd "$1"; ls -A; cat note.md.tmp.4711*; rm note.md.tmp.*', folder)).toBe(
          `note.md\n${temporary}\n${other}\nbytes of ${temporary}`,
        );
        expect(await stage.kinds('draft.md')).toEqual(Array(index + 1).fill('interrupted'));
        expect(await stage.kinds('note.md')).toEqual([...Array(index + 1).fill('interrupted'), 'saved']);
        expect(await stage.show('note.md', index + 2)).toBe(`bytes of ${temporary}`);
      }
    }),
    70_000,
  );

  test(
    'six at once on one file: the bytes of each are an interrupted version of its session',
    staged(40, async (stage) => {
      const folder = await stageHead(stage);
      const agents = await Promise.all(Array.from({ length: 6 }, () => stage.agent()));
      for (const [index, agent] of agents.entries()) {
        const write = (fs: typeof import('node:fs'), own: Record<string, number>, file: string, text: string) => {
          own['fd'] = fs.openSync(file, 'w');
          fs.writeSync(own['fd'], text);
        };
        await agent.run(write, `${folder}/note.md`, `text of writer ${index}`);
      }
      await expectHead(stage, folder);
      await Promise.all(agents.map((agent) => agent.kill('SIGKILL')));
      await expectHead(stage, folder);
      const texts = await stage.contents('note.md', 'interrupted');
      expect(texts.sort()).toEqual(agents.map((_, index) => `text of writer ${index}`));
      const sessions = (await stage.log('note.md')).flatMap(({ kind, session }) => (kind === 'saved' ? [] : [session]));
      expect(sessions.sort()).toEqual(agents.map(({ leader }) => `claude ${leader}`).sort());
    }),
    70_000,
  );
});

test(
  'a process that exits without closing has saved, whatever its status',
  staged(30, async (stage) => {
    const folder = await stageHead(stage);
    const agent = await stage.agent();
    await agent.run((fs, own, dir) => {
      own['a'] = fs.openSync(`${dir}/note.md`, 'w');
      fs.writeSync(own['a'], 'whole');
      own['b'] = fs.openSync(`${dir}/new.md`, 'wx');
      fs.writeSync(own['b'], 'whole too');
    }, folder);
    await agent.run(() => void setImmediate(() => process.exit(9)));
    await agent.exit();
    expect(await stage.sh('cat "$1/note.md" "$1/new.md"', folder)).toBe('wholewhole too');
    expect(await stage.kinds('note.md')).toEqual(['saved', 'saved']);
    expect(await stage.kinds('new.md')).toEqual(['saved']);
  }),
  60_000,
);

test(
  'a closed file stays saved when its writer is killed later, and a signal that is handled is an exit',
  staged(30, async (stage) => {
    const folder = await stageHead(stage);
    const agent = await stage.agent();
    await agent.run((fs, own, dir) => {
      fs.writeFileSync(`${dir}/closed.md`, 'closed');
      own['fd'] = fs.openSync(`${dir}/open.md`, 'w');
      fs.writeSync(own['fd'], 'open');
    }, folder);
    await agent.kill('SIGKILL');
    expect(await stage.kinds('closed.md')).toEqual(['saved']);
    expect(await stage.kinds('open.md')).toEqual(['interrupted']);

    const careful = await stage.agent();
    await careful.run((fs, own, dir) => {
      process.on('SIGTERM', () => process.exit(0));
      own['fd'] = fs.openSync(`${dir}/careful.md`, 'w');
      fs.writeSync(own['fd'], 'careful');
    }, folder);
    await careful.kill('SIGTERM');
    expect(await stage.kinds('careful.md')).toEqual(['saved']);
    expect(await stage.sh('ls -A "$1"', folder)).toBe('careful.md\nclosed.md\nnote.md\n');
  }),
  60_000,
);
