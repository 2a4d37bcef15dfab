import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectRefusal, Person, until } from './person.js';

interface Listed {
  file: string;
  bytes: number;
  versions: number;
  notes: string[];
}

interface Version {
  version: number;
  kind: string;
}

let person: Person;

beforeAll(async () => {
  person = await Person.make();
});

afterAll(async () => {
  await person.remove();
});

/** Begins with a new store, lays files by a shell script that runs in the memory folder, and imports them. */
async function lay(script: string): Promise<void> {
  await until(() => person.daemons().length === 0);
  await person.shell(`rm -rf "$M" "$S"; mkdir -p "$M"; cd "$M"; ${script}`);
  await person.mend(['memory', 'import']);
}

async function notes(): Promise<Record<string, string[]>> {
  const listed = await person.json<Listed[]>('memory');
  return Object.fromEntries(listed.filter((row) => row.notes.length > 0).map((row) => [row.file, row.notes]));
}

/** Lists the memory, which must end with status 0; resolves to the table and the sentences below it. */
async function list(): Promise<{ table: string[]; advice: string[] }> {
  const { code, stdout, stderr } = await person.mend(['memory']);
  expect(code).toBe(0);
  return { table: stdout.trimEnd().split('\n'), advice: stderr === '' ? [] : stderr.trimEnd().split('\n') };
}

describe('the index', () => {
  test('that fits says nothing', async () => {
    await lay(`printf -- '- [A](a.md)\\n- [B](sub/b%%20c.md)\\n' > MEMORY.md; mkdir sub
      printf a > a.md; printf b > 'sub/b c.md'; printf 0 > data.json`);
    expect(await notes()).toEqual({});
    const { table, advice } = await list();
    expect(advice).toEqual([]);
    expect(table.slice(-2)).toEqual(['', '4 files, 35 bytes of 32 MB']);
  });

  test('with a line left over and a note without a line is reported, and nothing is changed', async () => {
    await lay(
      `printf -- '- [A](a.md) - first\\n- [B](b.md) - second\\n' > MEMORY.md; printf a > a.md; printf o > orphan.md`,
    );
    expect(await notes()).toEqual({
      'MEMORY.md': ['line 2 links to b.md, which is not there'],
      'orphan.md': ['not in MEMORY.md'],
    });
    const { table, advice } = await list();
    expect(table[1]).toMatch(/^claude {3}MEMORY\.md .* {2}line 2 links to b\.md, which is not there$/);
    expect(table[3]).toMatch(/^claude {3}orphan\.md .* {2}not in MEMORY\.md$/);
    expect(advice).toEqual([
      'mend: MEMORY.md links to b.md (line 2), which is not there: remove the line, or restore the file with "mend memory restore"',
      'mend: MEMORY.md does not name orphan.md, so Claude Code may not look there: add a line with a link for each',
    ]);
    expect(await person.done('memory', 'show', 'MEMORY.md')).toBe('- [A](a.md) - first\n- [B](b.md) - second\n');
  });

  test('is told of in few words when much is wrong with it', async () => {
    await lay(
      `for i in $(seq 250); do echo "[$i](gone$i.md)"; done > MEMORY.md; for i in 1 2 3 4 5; do printf x > "note $i.md"; done`,
    );
    const found = await notes();
    expect(found['MEMORY.md']).toHaveLength(251);
    expect(found['MEMORY.md']?.slice(0, 2)).toEqual([
      'longer than Claude Code loads: 200 of 250 lines',
      'line 1 links to gone1.md, which is not there',
    ]);
    const { table, advice } = await list();
    expect(table[1]).toMatch(
      / {2}longer than Claude Code loads: 200 of 250 lines, 250 links to files that are not there$/,
    );
    expect(advice).toEqual([
      'mend: MEMORY.md is longer than Claude Code loads, which sees the first 200 of its 250 lines: move details to notes of their own',
      'mend: MEMORY.md links to gone1.md (line 1), gone2.md (line 2), gone3.md (line 3) and 247 more, which are not there: remove the lines, or restore the files with "mend memory restore"',
      'mend: MEMORY.md does not name "note 1.md", "note 2.md", "note 3.md" and 2 more, so Claude Code may not look there: add a line with a link for each',
    ]);
  });

  test('that has too many characters is cut at a line', async () => {
    await lay(`for i in $(seq 100); do printf '%0299d\\n' "$i"; done > MEMORY.md`);
    expect(await notes()).toEqual({ 'MEMORY.md': ['longer than Claude Code loads: 83 of 100 lines'] });
  });

  test('that is missing, or no text, is not compared', async () => {
    await lay('printf a > a.md');
    expect(await notes()).toEqual({});
    await lay(`printf '[x](gone.md)\\0' > MEMORY.md; printf a > a.md`);
    expect(await notes()).toEqual({});
  });
});

describe('a conflict', () => {
  const versions = (file: string): Promise<Version[]> => person.json('memory', 'log', file);

  /** Has another machine send a content that cannot be merged; gives back the number of the version that keeps it. */
  async function conflict(bytes: string, machine: string): Promise<number> {
    await person.shell(`mkdir -p "$HOME/${machine}"; printf '${bytes}' > "$HOME/${machine}/note.md"`);
    const from = `${person.user.home}/${machine}`;
    expect(await person.mend(['memory', 'import', '--from', from, '--machine', machine])).toMatchObject({ code: 3 });
    const newest = (await versions('note.md'))[0];
    expect(newest?.kind).toBe('conflict');
    return newest?.version ?? 0;
  }

  test('waits until a version is chosen: the other side', async () => {
    await lay(`printf 'ours\\0' > note.md`);
    const number = await conflict('theirs\\0', 'one');
    expect(await notes()).toEqual({ 'note.md': ['1 conflict'] });
    expect((await list()).advice).toEqual([
      `mend: note.md has a conflict that waits: see "mend memory diff note.md ${number}", then run "mend memory restore note.md --version ${number}" to take the other side, or with --version 1 to keep what the file holds`,
    ]);
    await person.done('memory', 'restore', 'note.md', '--version', String(number));
    expect(await notes()).toEqual({});
  });

  test('or what the file holds already, which stays', async () => {
    await lay(`printf 'ours\\0' > note.md`);
    await conflict('theirs\\0', 'two');
    expect(await person.done('memory', 'restore', 'note.md', '--version', '1')).toBe(
      'note.md stays as version 1 has it, which settles its conflict\n',
    );
    expect(await notes()).toEqual({});
    expect(await person.done('memory', 'show', 'note.md')).toBe('ours\0');
    expect((await versions('note.md')).map(({ kind }) => kind)).toEqual(['restored', 'conflict', 'imported']);
    expect(await person.done('memory', 'restore', 'note.md', '--version', '1')).toBe(
      'note.md holds version 1 already\n',
    );
    const number = await conflict('others\\0', 'three');
    expect(await notes()).toEqual({ 'note.md': ['1 conflict'] });
    await person.done('memory', 'purge', 'note.md', '--version', String(number), '--confirm', 'note.md');
    expect(await notes()).toEqual({});
  });

  test('is not settled by a save, unless that has every line of both', async () => {
    await lay(`seq -f 'ours %g' 20 > note.md`);
    const theirs = Array.from({ length: 20 }, (_, i) => `theirs ${i + 1}`);
    await conflict(`${theirs.join('\\n')}\\n\\n`, 'four');
    await person.done('mount');
    for (const lines of [['more'], theirs.slice(0, 19)]) {
      await person.shell(`printf '%s\\n' '${lines.join("' '")}' >> "$M/note.md"`);
      expect(await notes()).toEqual({ 'note.md': ['1 conflict'] });
    }
    await person.shell(`echo '${theirs[19]}' >> "$M/note.md"`);
    expect(await notes()).toEqual({});
    await person.done('unmount');
  });

  test('of many files is told of some by name', async () => {
    await lay(`for i in 1 2 3 4 5 6 7; do printf "ours\\\\0" > "n $i.md"; done`);
    await person.shell(
      `mkdir -p "$HOME/five"; cd "$HOME/five"; for i in 1 2 3 4 5 6 7; do printf "theirs\\\\0" > "n $i.md"; done`,
    );
    await person.mend(['memory', 'import', '--from', `${person.user.home}/five`, '--machine', 'five']);
    const { advice } = await list();
    expect(advice).toHaveLength(6);
    expect(advice[0]).toMatch(/^mend: "n 1\.md" has a conflict that waits: see "mend memory diff 'n 1\.md' 2", /);
    expect(advice[5]).toBe('mend: 2 more files have a conflict that waits');
  });
});

test('a likely secret is told of by rule and line, never by value', async () => {
  const token = `ghp_${'abcdefghijklmnopqrstuvwxyz0123456789'}`;
  await lay('printf x > note.md');
  await person.done('mount');
  await person.shell(`printf 'one\\ntoken: ${token}\\n' > "$M/note.md"`);
  await person.done('unmount');
  for (let round = 0; round < 2; round++) {
    expect(await notes()).toEqual({ 'note.md': [expect.stringMatching(/^may hold a secret: line 2 \([a-z-]+\)$/)] });
    const { table, advice } = await list();
    expect(advice).toEqual([
      expect.stringMatching(
        /^mend: note\.md \(line 2, [a-z-]+\) may hold a secret: take it out, and "mend memory purge"/,
      ),
    ]);
    expect([...table, ...advice].join('\n')).not.toContain(token);
  }
});

describe('the table', () => {
  /** Columns that a terminal would use; every name here has as many as it is said to have. */
  const names: [string, number][] = [
    ['plain.md', 8],
    ['记忆.md', 7],
    ['cafe\u0301.md', 7],
    ['\u1112\u1161\u11ab.md', 5],
    ['👩‍💻.md', 5],
    ['❤️.md', 5],
    ['🇫🇷.md', 5],
    ['שלום.md', 7],
    ['𠀀.md', 5],
    ['क्षि.md', 6],
  ];

  test('is aligned with names of every width, long ones shift their own line', async () => {
    await lay(':');
    const long = `${'l'.repeat(120)}.md`;
    for (const [name] of [...names, [long]] as [string][]) await person.shell(`printf x > "$M/${name}"`);
    await person.done('memory', 'import');
    const { table } = await list();
    const [head = '', ...lines] = table.slice(0, -2);
    for (const [name, columns] of names) {
      const line = lines.find((one) => one.includes(` ${name} `)) ?? '';
      const blanks = line.slice(line.indexOf(name) + name.length).match(/^ */)?.[0].length ?? 0;
      expect(columns + blanks + 'claude   '.length, JSON.stringify(name)).toBe(head.indexOf('bytes') + 4);
    }
    expect(lines.find((one) => one.includes(long))).toMatch(/^claude {3}l{120}\.md {6}1 {2}\d{4}/);
  });

  test('shows what takes no room in a name', async () => {
    await lay(String.raw`printf x > "$(printf 'a\342\200\213b\342\200\217c\357\273\277.md')"`);
    expect((await list()).table[1]).toContain(String.raw`"a\u200bb\u200fc\ufeff.md"`);
  });

  test('of an empty memory is a sentence', async () => {
    await lay('printf a > a.md');
    await person.done('memory', 'rm', 'a.md');
    expect(await person.done('memory')).toBe(
      'project "garden" has no file: "mend memory log" shows what there was, and "mend memory restore" brings it back\n',
    );
    expect(await person.json('memory')).toEqual([]);
    expectRefusal(await person.mend(['memory', 'nosuch']), 2, /unknown command/);
  });
});
