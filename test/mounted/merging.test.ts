import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Agent } from './agent.js';
import { program, read } from './agent-work.js';
import { type Stage, staged } from './stage.js';

const START = '- one\n- two\n';
const FOREIGN = `${START}- foreign\n`;

/** A session that saves, and another one that saved a line meanwhile. */
interface Scene {
  readonly stage: Stage;
  readonly one: Agent;
  readonly path: string;
  /** The other session adds a line. */
  readonly foreign: () => Promise<unknown>;
}

const append = (agent: Agent, path: string, text: string) =>
  agent.run((fs, _, file, line) => fs.appendFileSync(file, line), path, text);
const write = (agent: Agent, path: string, text: string) =>
  agent.run((fs, _, file, content) => fs.writeFileSync(file, content), path, text);
/** Saves as Claude Code does: reads the file again, writes a temporary beside it, and puts that in its place. */
const replace = (agent: Agent, path: string, text: string) =>
  agent.run(
    (fs, _, file, content) => {
      if (fs.existsSync(file)) fs.readFileSync(file);
      const temporary = `${file}.tmp.${process.pid}.0123456789ab`;
      const fd = fs.openSync(temporary, 'wx');
      fs.writeSync(fd, content);
      fs.fsyncSync(fd);
      fs.closeSync(fd);
      fs.renameSync(temporary, file);
    },
    path,
    text,
  );
/** Saves as older versions of Claude Code do: a look at the first bytes, a re-read, and a read of what was saved. */
const replaceAndLook = (agent: Agent, path: string, text: string) =>
  agent.run(
    (fs, _, file, content) => {
      const bytes = Buffer.alloc(4096);
      const look = fs.openSync(file, 'r');
      fs.readSync(look, bytes, 0, 4096, 0);
      fs.closeSync(look);
      fs.readFileSync(file);
      const temporary = `${file}.tmp.${process.pid}.0123456789ab`;
      fs.writeFileSync(temporary, content, { flag: 'wx' });
      fs.renameSync(temporary, file);
      fs.readFileSync(file);
    },
    path,
    text,
  );
/** Changes a file as a tool does that reads and replaces it in one go. */
const edit = (agent: Agent, path: string, from: string, to: string) =>
  agent.run(
    (fs, _, file, old, now) => {
      const content = fs.readFileSync(file, 'utf8').replace(old, now);
      fs.writeFileSync(`${file}.tmp.${process.pid}.0123456789ab`, content);
      fs.renameSync(`${file}.tmp.${process.pid}.0123456789ab`, file);
    },
    path,
    from,
    to,
  );

interface Case {
  readonly name: string;
  readonly act: (scene: Scene) => Promise<unknown>;
  readonly result: string | null;
  /** Kinds of the versions, newest first. */
  readonly kinds: readonly string[];
  /** What the file holds at the start; null for no file. */
  readonly start?: string | null;
}

const cases: Case[] = [
  {
    name: 'Write after an old read',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await replace(one, path, `${START}- mine\n`);
    },
    result: `${FOREIGN}- mine\n`,
    kinds: ['merged', 'saved', 'saved'],
  },
  {
    name: 'Write in place after an old read',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await write(one, path, `${START}- mine\n`);
    },
    result: `${FOREIGN}- mine\n`,
    kinds: ['merged', 'saved', 'saved'],
  },
  {
    name: 'Edit after an old read',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await edit(one, path, 'two', 'TWO');
    },
    result: '- one\n- TWO\n- foreign\n',
    kinds: ['saved', 'saved', 'saved'],
  },
  {
    name: "a removal of another's line after really reading it",
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await read(one, path);
      await edit(one, path, '- foreign\n', '');
    },
    result: START,
    kinds: ['saved', 'saved', 'saved'],
  },
  {
    name: 'the same by a program that reads once, and saves some time later',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await read(one, path);
      await delay(2100);
      await write(one, path, START);
    },
    result: START,
    kinds: ['saved', 'saved', 'saved'],
  },
  {
    name: 'sed -i',
    act: async ({ one, path, foreign }) => {
      await program(one, 'cat "$1"', path);
      await foreign();
      await delay(50);
      await program(one, 'sed -i -e s/two/TWO/ -e /foreign/d "$1"', path);
    },
    result: '- one\n- TWO\n',
    kinds: ['saved', 'saved', 'saved'],
  },
  {
    name: 'a script that reads the file again and writes a text from before',
    act: async ({ one, path, foreign }) => {
      await program(one, 'cat "$1"', path);
      await foreign();
      const script = `import sys; open(sys.argv[1]).read(); open(sys.argv[1], "w").write("${START.replaceAll('\n', '\\n')}- mine\\n")`;
      await program(one, `python3 -c '${script}' "$1"`, path);
    },
    result: `${FOREIGN}- mine\n`,
    kinds: ['merged', 'saved', 'saved'],
  },
  {
    name: '>>',
    act: async ({ one, path, foreign }) => {
      await program(one, 'cat "$1"', path);
      await foreign();
      await program(one, 'echo "- mine" >>"$1"', path);
    },
    result: `${FOREIGN}- mine\n`,
    kinds: ['saved', 'saved', 'saved'],
  },
  {
    name: '>> through a descriptor that was opened before',
    act: async ({ one, path, foreign }) => {
      await one.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'a');
      }, path);
      await foreign();
      await one.run((fs, own) => {
        fs.writeSync(own['fd'] ?? -1, '- mine\n');
        fs.closeSync(own['fd'] ?? -1);
      });
    },
    result: `${FOREIGN}- mine\n`,
    kinds: ['merged', 'saved', 'saved'],
  },
  {
    name: 'a change in the middle of an open file',
    act: async ({ one, path, foreign }) => {
      await one.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'r+');
        fs.writeSync(own['fd'], 'ONE', 2);
      }, path);
      await foreign();
      await one.run((fs, own) => fs.closeSync(own['fd'] ?? -1));
    },
    result: '- ONE\n- two\n- foreign\n',
    kinds: ['merged', 'saved', 'saved'],
  },
  {
    name: "an editor's write and rename",
    act: async ({ one, path, foreign }) => {
      await program(one, 'cat "$1"', path);
      await foreign();
      await program(one, 'printf "%s\\n" "- one" "- two" "- mine" >"$1.new"; mv "$1.new" "$1"', path);
    },
    result: `${FOREIGN}- mine\n`,
    kinds: ['merged', 'saved', 'saved'],
  },
  {
    name: 'git checkout of a file',
    act: async ({ stage, one, path, foreign }) => {
      const worktree = `--git-dir=${join(stage.user.home, 'notes.git')} --work-tree="$(dirname "$1")"`;
      const git = `git -c user.name=n -c user.email=n@example.com ${worktree}`;
      await program(
        one,
        `git init -q --bare ${join(stage.user.home, 'notes.git')}; ${git} add "$1"; ${git} commit -qm one`,
        path,
      );
      await foreign();
      await program(one, `cat "$1"; ${git} checkout -q HEAD -- "$1"`, path);
    },
    result: START,
    kinds: ['saved', 'removed', 'saved', 'saved'],
  },
  {
    name: 'blind overwrite',
    act: async ({ one, path, foreign }) => {
      await foreign();
      await program(one, 'echo mine >"$1"', path);
    },
    result: 'mine\n',
    kinds: ['saved', 'saved', 'saved'],
  },
  {
    name: 'both create',
    start: null,
    act: async ({ one, path, foreign }) => {
      expect(await one.run((fs, _, file) => fs.existsSync(file), path)).toBe(false);
      await foreign();
      await replace(one, path, '- mine\n');
    },
    result: '- foreign\n- mine\n',
    kinds: ['merged', 'saved'],
  },
  {
    name: 'both create, and both write at once',
    start: null,
    act: async ({ one, path, foreign }) => {
      await one.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'w');
        fs.writeSync(own['fd'], '- mine\n');
      }, path);
      await foreign();
      await one.run((fs, own) => fs.closeSync(own['fd'] ?? -1));
    },
    result: '- foreign\n- mine\n',
    kinds: ['merged', 'saved'],
  },
  {
    name: 'a removal against a newer save',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await one.run((fs, _, file) => fs.unlinkSync(file), path);
      expect(await program(one, 'cat "$1"', path)).toBe(FOREIGN);
      expect(await read(one, path)).toBe(FOREIGN);
    },
    result: FOREIGN,
    kinds: ['saved', 'saved'],
  },
  {
    name: 'saving twice after a merge',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await replace(one, path, `${START}- mine\n`);
      await replace(one, path, `${START}- mine\n- mine too\n`);
    },
    result: `${FOREIGN}- mine\n- mine too\n`,
    kinds: ['merged', 'merged', 'saved', 'saved'],
  },
  {
    name: 'the same by a program that looks at the file before and after each save',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await replaceAndLook(one, path, `${START}- mine\n`);
      await replaceAndLook(one, path, `${START}- mine\n- mine too\n`);
    },
    result: `${FOREIGN}- mine\n- mine too\n`,
    kinds: ['merged', 'merged', 'saved', 'saved'],
  },
  {
    name: 'saving twice through one open file',
    act: async ({ one, path, foreign }) => {
      await one.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'a');
      }, path);
      await foreign();
      // A child that wrote closes its copy of the descriptor: a save.
      const line = (text: string) => program(one, `printf -- '${text}' >&3`, path, true);
      await line('- mine\\n');
      await line('- mine too\\n');
      await one.run((fs, own) => fs.closeSync(own['fd'] ?? -1));
    },
    result: `${FOREIGN}- mine\n- mine too\n`,
    kinds: ['merged', 'merged', 'saved', 'saved'],
  },
  {
    name: 'git checkout of a file that another session saved meanwhile',
    act: async ({ stage, one, path, foreign }) => {
      const worktree = `--git-dir=${join(stage.user.home, 'notes.git')} --work-tree="$(dirname "$1")"`;
      const git = `git -c user.name=n -c user.email=n@example.com ${worktree}`;
      const made = `git init -q --bare ${join(stage.user.home, 'notes.git')}; ${git} add "$1"; ${git} commit -qm one`;
      await program(one, `${made}; echo "- mine" >>"$1"; cat "$1"`, path);
      await foreign();
      await program(one, `${git} checkout -q HEAD -- "$1"`, path);
    },
    result: FOREIGN,
    kinds: ['merged', 'saved', 'saved', 'saved'],
  },
  {
    name: 'mv from another file system over what another session saved meanwhile',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await program(
        one,
        `printf -- '${START.replaceAll('\n', '\\n')}- mine\\n' >/dev/shm/mine.$$; mv /dev/shm/mine.$$ "$1"`,
        path,
      );
    },
    result: `${FOREIGN}- mine\n`,
    kinds: ['merged', 'saved', 'saved'],
  },
  {
    name: 'truncation by path after an old read, and a new text',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await one.run((fs, _, file) => fs.truncateSync(file, 0), path);
      await append(one, path, `${START}- mine\n`);
    },
    result: `- foreign\n${START}- mine\n`,
    kinds: ['saved', 'merged', 'saved', 'saved'],
  },
  {
    name: 'an append to a file that was replaced, and then moved, meanwhile',
    act: async ({ one, path, foreign, stage }) => {
      await foreign();
      await one.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'a');
        fs.writeSync(own['fd'], '- mine\n');
      }, path);
      await stage.sh('{ cat "$1"; echo "- new"; } >"$1.new"; mv "$1.new" "$1"; mv "$1" "$1.moved.md"', path);
      await one.run((fs, own) => fs.closeSync(own['fd'] ?? -1));
      await stage.sh('mv "$1.moved.md" "$1"', path);
    },
    result: `${FOREIGN}- new\n- mine\n`,
    kinds: ['merged', 'saved', 'saved', 'saved'],
  },
  {
    name: 'a text made from a look at the own merged save, after which another line came',
    act: async ({ one, path, foreign, stage }) => {
      await read(one, path);
      await foreign();
      await replaceAndLook(one, path, `${START}- mine\n`);
      await stage.sh('echo "- late" >>"$1"', path);
      await replace(one, path, `${FOREIGN}- mine\n- mine too\n`);
    },
    result: `${FOREIGN}- mine\n- late\n- mine too\n`,
    kinds: ['merged', 'saved', 'merged', 'saved', 'saved'],
  },
  {
    name: 'appends of two sessions to an empty file',
    start: '',
    act: async ({ one, path, foreign }) => {
      await one.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'a');
      }, path);
      await foreign();
      await one.run((fs, own) => {
        fs.writeSync(own['fd'] ?? -1, '- mine\n');
        fs.closeSync(own['fd'] ?? -1);
      });
    },
    result: '- foreign\n- mine\n',
    kinds: ['merged', 'saved', 'saved'],
  },
  {
    name: 'a session that renames what another one saved meanwhile, and writes from what it had read',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      const other = path.replace('MEMORY', 'other');
      await one.run((fs, _, from, to) => fs.renameSync(from, to), path, other);
      await write(one, other, `${START}- mine\n`);
      await one.run((fs, _, from, to) => fs.renameSync(from, to), other, path);
    },
    result: `${FOREIGN}- mine\n`,
    kinds: ['merged', 'saved', 'saved'],
  },
  {
    name: 'the same in a folder that got another name by somebody else',
    act: async ({ one, path, foreign, stage }) => {
      const folder = path.replace('/MEMORY.md', '');
      await stage.sh('mkdir "$1/dir"; mv "$1/MEMORY.md" "$1/dir"', folder);
      await read(one, `${folder}/dir/MEMORY.md`);
      await stage.sh('mv "$1/dir/MEMORY.md" "$1"; mv "$1/dir" "$1/other"', folder);
      await foreign();
      await stage.sh('mv "$1/MEMORY.md" "$1/other"', folder);
      await write(one, `${folder}/other/MEMORY.md`, `${START}- mine\n`);
      await stage.sh('mv "$1/other/MEMORY.md" "$1"', folder);
    },
    result: `${FOREIGN}- mine\n`,
    kinds: ['merged', 'saved', 'saved'],
  },
  {
    name: 'an editor that puts the old file aside under a backup name',
    act: async ({ one, path, foreign }) => {
      await read(one, path);
      await foreign();
      await one.run(
        (fs, _, file, content) => {
          fs.renameSync(file, `${file}~`);
          fs.writeFileSync(file, content, { flag: 'wx' });
          fs.unlinkSync(`${file}~`);
        },
        path,
        `${START}- mine\n`,
      );
    },
    result: `${FOREIGN}- mine\n`,
    kinds: ['merged', 'removed', 'saved', 'saved'],
  },
];

test.each(cases)(
  '$name',
  ({ act, result, kinds, start = START }) =>
    staged(40, async (stage) => {
      const home = join(stage.user.home, 'second');
      await stage.sh('mkdir "$1"', home);
      const [here, there] = [await stage.mount(), await stage.mount({ home })];
      const [one, two, third] = [await stage.agent(), await stage.agent(), await stage.agent()];
      const path = `${here}/MEMORY.md`;
      if (start !== null) await write(third, path, start);
      const times = () =>
        third.run(
          (fs, _, a, b) => [a, b].map((p) => fs.statSync(p, { throwIfNoEntry: false })?.mtimeMs),
          path,
          `${there}/MEMORY.md`,
        );
      let before = 0;
      const foreign = async () => {
        await append(two, `${there}/MEMORY.md`, '- foreign\n');
        const [time = 0, other] = await times();
        expect(other).toBe(time);
        before = time;
      };
      await act({ stage, one, path, foreign });
      for (const agent of [one, two, third]) {
        for (const dir of [here, there]) {
          expect(
            await agent.run((fs, _, file) => fs.existsSync(file) && fs.readFileSync(file, 'utf8'), `${dir}/MEMORY.md`),
          ).toBe(result ?? false);
        }
      }
      expect(await stage.kinds('MEMORY.md')).toEqual(kinds);
      const [time, other] = await times();
      expect(other).toBe(time);
      if (result !== FOREIGN) expect(time).toBeGreaterThan(before);
      // The next save by either session still keeps both sides' lines.
      if (result === null) return;
      await append(two, `${there}/MEMORY.md`, '- after\n');
      await append(one, path, '- at last\n');
      expect(await read(third, path)).toBe(`${result}- after\n- at last\n`);
    })(),
  60_000,
);

/** Lengths that a process is told of a file by name, and of an open one that it then reads to its end. */
const lengths = (agent: Agent, path: string) =>
  agent.run((fs, _, file) => {
    const named = fs.statSync(file).size;
    const fd = fs.openSync(file, 'r');
    const open = fs.fstatSync(fd).size;
    const read = fs.readFileSync(fd).length;
    fs.closeSync(fd);
    return { named, open, read, after: fs.lstatSync(file).size };
  }, path);

const MINE = `${START}- mine\n`;
const MERGED = `${FOREIGN}- mine\n`.length;

test.each([
  ['a temporary that takes its place', replace],
  ['a write in place', write],
] as const)(
  'who saves by %s is told of the length that it wrote, until it opens what that was merged into',
  (_, save) =>
    staged(40, async (stage) => {
      const folder = await stage.mount();
      const [one, two, third] = [await stage.agent(), await stage.agent(), await stage.agent()];
      const path = `${folder}/MEMORY.md`;
      await write(two, path, START);
      await read(one, path);
      await append(two, path, '- foreign\n');
      await save(one, path, MINE);
      const all = { open: MERGED, read: MERGED, after: MERGED };
      expect(await lengths(third, path)).toEqual({ named: MERGED, ...all });
      expect(await lengths(two, path)).toEqual({ named: FOREIGN.length, ...all });
      expect(await program(one, 'stat -c %s "$1"', path)).toBe(`${MERGED}\n`);
      expect(await lengths(one, path)).toEqual({ named: MINE.length, ...all });
      // The same where the other session saves between a save and the look at it.
      await write(one, path, MINE);
      await stage.sh('echo "all new" >"$1"', path);
      expect(await lengths(one, path)).toEqual({ named: MINE.length, open: 8, read: 8, after: 8 });
      await write(one, path, MINE);
      await stage.sh('echo "all new" >"$1"', path);
      expect(
        await one.run((fs, __, file) => {
          const fd = fs.openSync(file, 'r+');
          const { size } = fs.fstatSync(fd);
          fs.closeSync(fd);
          return size;
        }, path),
      ).toBe(8);
    })(),
  60_000,
);

/** Saves that cannot be merged: what was there, what another session made of it, and what a session saves after an old read. */
const refused: [name: string, file: string, start: Buffer, foreign: Buffer, mine: Buffer][] = [
  ['bytes that are not text', 'a.md', Buffer.from('a\0b\n'), Buffer.from('a\0c\n'), Buffer.from('a\0d\n')],
  ['invalid UTF-8', 'a.md', Buffer.from('a\n'), Buffer.from([0x61, 0xff, 0x0a]), Buffer.from('b\n')],
  ['JSON that would not parse', 'a.json', Buffer.from('[\n1\n]\n'), Buffer.from('[\n2\n]\n'), Buffer.from('[\n3\n]\n')],
  [
    'frontmatter that is more than keys and lists',
    'a.md',
    Buffer.from('---\na: |\n  one\n---\n'),
    Buffer.from('---\na: |\n  two\n---\n'),
    Buffer.from('---\na: |\n  three\n---\n'),
  ],
  [
    'texts that are too large together',
    'a.md',
    Buffer.from('a\n'),
    Buffer.from(`a\n${'b'.repeat(600_000)}\n`),
    Buffer.from(`a\n${'c'.repeat(600_000)}\n`),
  ],
];

test.each(refused)(
  '%s: the later save is the head, and the other a version that is pointed out',
  (_, file, start, foreign, mine) =>
    staged(40, async (stage) => {
      const folder = await stage.mount();
      const [one, two, third] = [await stage.agent(), await stage.agent(), await stage.agent()];
      const save = (agent: Agent, bytes: Buffer) =>
        agent.run(
          (fs, __, path, text) => fs.writeFileSync(path, Buffer.from(text, 'base64')),
          `${folder}/${file}`,
          bytes.toString('base64'),
        );
      const hash = (command: string) => stage.sh(`${command} | sha256sum`);
      const same = (bytes: Buffer) => `${createHash('sha256').update(bytes).digest('hex')}  -\n`;
      await save(third, start);
      await read(one, `${folder}/${file}`);
      await read(two, `${folder}/${file}`);
      await save(two, foreign);
      await save(one, mine);
      expect(await hash(`cat ${folder}/${file}`)).toBe(same(mine));
      expect(await stage.kinds(file)).toEqual(['saved', 'conflict', 'saved', 'saved']);
      const kept = await stage.log(file);
      expect(kept.map(({ bytes }) => bytes)).toEqual([mine.length, foreign.length, foreign.length, start.length]);
      const [row] = await stage.json<{ file: string; notes: string[] }[]>(['memory']);
      expect(row).toMatchObject({ file, notes: ['1 conflict'] });
    })(),
  60_000,
);

test(
  'a session goes on with the next daemon: it knows what it had read, and what it had written',
  staged(60, async (stage) => {
    const folder = await stage.mount();
    const [one, two] = [await stage.agent(), await stage.agent()];
    await write(two, `${folder}/read.md`, START);
    await read(one, `${folder}/read.md`);
    await replace(one, `${folder}/written.md`, START);
    await append(two, `${folder}/read.md`, '- foreign\n');
    await append(two, `${folder}/written.md`, '- foreign\n');
    // What sessions know goes to the store with the next background work.
    await delay(1200);
    await stage.endDaemon('SIGKILL');
    await stage.mount();
    for (const [name, save] of [
      ['read.md', replace],
      ['written.md', write],
    ] as const) {
      await save(one, `${folder}/${name}`, `${START}- mine\n`);
      expect(await read(two, `${folder}/${name}`)).toBe(`${FOREIGN}- mine\n`);
    }
  }),
  90_000,
);
