import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shared } from './agent.js';
import { begin, end, read } from './agent-work.js';
import { type Stage, staged, until } from './stage.js';

const ROUNDS = 3000;

/** Mounts the same tree in two homes. */
async function mountTwice(stage: Stage): Promise<[string, string]> {
  const home = join(stage.user.home, 'second');
  await stage.sh('mkdir "$1"', home);
  return [await stage.mount(), await stage.mount({ home })];
}

for (const [where, names] of [
  ['the other mount', 'rename'],
  ['the other mount', 'none'],
  ['the same mount', 'none'],
] as const) {
  const also = names === 'rename' ? ', and names change' : '';
  test(
    `what an append closed is what stat tells on ${where} while threads look the file up without a pause${also}`,
    staged(100, async (stage) => {
      const [folder, other] = await mountTwice(stage);
      const looking = where === 'the same mount' ? folder : other;
      const program = shared('lookers.mjs', join(import.meta.dirname, 'lookers.mjs'));
      const args = [folder, looking, String(ROUNDS), '3', names];
      const result = await stage.user.run([process.execPath, program, ...args], { timeout: 95 });
      expect(result).toMatchObject({ code: 0, stderr: '' });
      const seen = JSON.parse(result.stdout) as Record<string, unknown>;
      expect(seen).toMatchObject({ size: 10 * ROUNDS, first: 0, second: 0, statuses: [0, 0, 0] });
      expect(seen['looks']).toBeGreaterThan(ROUNDS);
    }),
    130_000,
  );
}

test(
  'a reader goes on reading what it opened when an editor puts the note aside and writes a new one',
  staged(40, async (stage) => {
    const [folder, other] = await mountTwice(stage);
    // With a newer version in between as well, which is what is put aside then.
    for (const [name, between] of [
      ['note.md', ''],
      ['twice.md', 'echo BBBBBBBBBBBB >"$2";'],
    ] as const) {
      await stage.sh('echo first text >"$1/$2"', folder, name);
      const readers = [await stage.agent(), await stage.agent()];
      for (const [index, agent] of readers.entries()) {
        const start = await agent.run(
          (fs, own, path) => {
            own['fd'] = fs.openSync(path, 'r');
            const bytes = Buffer.alloc(3);
            fs.readSync(own['fd'], bytes, 0, 3, 0);
            return bytes.toString();
          },
          `${index === 0 ? folder : other}/${name}`,
        );
        expect(start).toBe('fir');
      }
      await stage.sh(`cd "$1"; ${between} mv "$2" "$2~"; echo new >"$2"`, folder, name);
      for (const agent of readers) {
        const rest = await agent.run((fs, own) => {
          const fd = own['fd'] ?? -1;
          const bytes = Buffer.alloc(100);
          const { size } = fs.fstatSync(fd);
          return [size, bytes.subarray(0, fs.readSync(fd, bytes, 0, 100, 3)).toString()];
        });
        expect(rest).toEqual(['first text\n'.length, 'st text\n']);
        expect(await agent.code((fs, own) => fs.closeSync(own['fd'] ?? -1))).toBeUndefined();
      }
      expect(await stage.sh('cat "$1/$3" "$2/$3"', folder, other, name)).toBe('new\nnew\n');
    }
  }),
  70_000,
);

test(
  'a reader of a temporary file goes on reading it once another session made it a note, and sees none of its drafts',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    const text = `${'text '.repeat(2000)}end`;
    const temporary = `${folder}/note.md.tmp.1.0123456789ab`;
    const [reader, writer] = [await stage.agent(), await stage.agent()];
    await stage.sh('echo old >"$1/note.md"', folder);
    await writer.run((fs, _, path, content) => fs.writeFileSync(path, content), temporary, text);
    const readAll = (from: number) =>
      reader.run((fs, own, position) => {
        const bytes = Buffer.alloc(20_000);
        let length = 0;
        for (let more = 1; more > 0; length += more)
          more = fs.readSync(own['fd'] ?? -1, bytes, length, 5000, position + length);
        return bytes.toString('utf8', 0, length);
      }, from);
    await reader.run((fs, own, path) => {
      own['fd'] = fs.openSync(path, 'r');
      fs.readSync(own['fd'], Buffer.alloc(5), 0, 5, 0);
    }, temporary);
    await writer.run((fs, _, from, to) => fs.renameSync(from, to), temporary, `${folder}/note.md`);
    expect(await readAll(0)).toBe(text);
    await begin(writer, `${folder}/note.md`, 'DRAFT', 'r+');
    expect(await read(writer, `${folder}/note.md`)).toBe(`DRAFT${text.slice(5)}`);
    expect([await readAll(0), await readAll(2)]).toEqual([text, text.slice(2)]);
    await end(writer);
    expect(await readAll(0)).toBe(text);
    await begin(writer, `${folder}/note.md`, 'SHORT', 'w');
    expect(await readAll(0)).toBe(text);
    await end(writer);
    expect(await stage.sh('cat "$1/note.md"', folder)).toBe('SHORT');
    expect(await stage.contents('note.md', 'saved')).toEqual(['SHORT', `DRAFT${text.slice(5)}`, text, 'old\n']);
  }),
  70_000,
);

test(
  'a session that has a file open on both mounts sees its own draft on both, and nobody else does',
  staged(40, async (stage) => {
    const [folder, other] = await mountTwice(stage);
    await stage.sh('printf old >"$1/note.md"', folder);
    const [agent, stranger] = [await stage.agent(), await stage.agent()];
    const look = (who: typeof agent, path: string) =>
      who.run((fs, _, file) => [fs.statSync(file).size, fs.readFileSync(file, 'utf8')] as const, path);
    // Both kernels know the file, and the session has it open on the other mount too.
    await agent.run((fs, own, path) => {
      own['other'] = fs.openSync(path, 'r+');
    }, `${other}/note.md`);
    const size = (who: typeof agent, path: string) => who.run((fs, _, file) => fs.statSync(file).size, path);
    for (const path of [folder, other].map((dir) => `${dir}/note.md`)) {
      for (const who of [agent, stranger]) expect(await look(who, path)).toEqual([3, 'old']);
      // After a read the kernel asks for the attributes again; what this answers it may keep.
      for (const who of [agent, stranger]) expect(await size(who, path)).toBe(3);
    }
    await begin(agent, `${folder}/note.md`, 'a longer draft');
    const drafted = async (text: string) => {
      await until(
        async () => (await size(agent, `${other}/note.md`)) === text.length,
        'the draft to be seen on the other mount',
        1000,
      );
      expect(await look(agent, `${other}/note.md`)).toEqual([text.length, text]);
      const through = await agent.run((fs, own) => {
        const [bytes, fd] = [Buffer.alloc(100), own['other'] ?? -1];
        return [fs.fstatSync(fd).size, bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, 100, 0))];
      });
      expect(through).toEqual([text.length, text]);
      expect(await look(agent, `${folder}/note.md`)).toEqual([text.length, text]);
      for (const dir of [folder, other]) expect(await look(stranger, `${dir}/note.md`)).toEqual([3, 'old']);
    };
    await drafted('a longer draft');
    await agent.run((fs, own) => fs.writeSync(own['fd'] ?? -1, ', and more'));
    await drafted('a longer draft, and more');
    await end(agent);
    for (const dir of [folder, other]) {
      for (const who of [agent, stranger])
        expect(await look(who, `${dir}/note.md`)).toEqual([24, 'a longer draft, and more']);
    }
    await agent.run((fs, own) => fs.closeSync(own['other'] ?? -1));
    expect(await stage.contents('note.md', 'saved')).toEqual(['a longer draft, and more', 'old']);
  }),
  70_000,
);

test(
  'a time that is set through an open file is seen on the other mount, also when its bytes are those of the head',
  staged(40, async (stage) => {
    const [folder, other] = await mountTwice(stage);
    await stage.sh('printf same >"$1/note.md"', folder);
    const agent = await stage.agent();
    const times = () =>
      agent.run((fs, _, ...dirs: string[]) => dirs.map((dir) => fs.statSync(`${dir}/note.md`).mtimeMs), folder, other);
    const [first, second] = await times();
    expect(first).toBe(second);
    const set = (how: 'written' | 'only opened', seconds: number) =>
      agent.run(
        (fs, _, path, write, time) => {
          const fd = fs.openSync(path, 'r+');
          if (write) fs.writeSync(fd, 'same');
          fs.futimesSync(fd, time, time);
          fs.closeSync(fd);
        },
        `${folder}/note.md`,
        how === 'written',
        seconds,
      );
    await set('written', 1e9);
    expect(await times()).toEqual([1e12, 1e12]);
    await set('only opened', 1.1e9);
    expect(await times()).toEqual([1.1e12, 1.1e12]);
    expect(await stage.kinds('note.md')).toEqual(['saved']);
  }),
  70_000,
);
