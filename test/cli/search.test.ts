import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programPath } from '../support/program.js';
import { expectRefusal, Person } from './person.js';
import { filesWith } from './store-files.js';

interface Hit {
  harness: string;
  file: string;
  version?: number | null;
  line: number | null;
  text: string | null;
}

let person: Person;

beforeAll(async () => {
  person = await Person.make();
  await person.shell(`mkdir -p "$M/sub"; cd "$M"
    printf 'Use c++ and foo-bar, not foo bar.\\n\\nRun the\\ntests with make check.\\n' > tests.md
    printf -- '- [Tests](tests.md): how to run them\\r\\n- [Peinture](peinture.md): Caf\\303\\251 \\303\\211l\\303\\250ve\\r\\n' > MEMORY.md
    printf 'Cafe\\314\\201 cre\\314\\200me\\n' > peinture.md
    printf '\\351\\241\\271\\347\\233\\256\\350\\256\\260\\345\\277\\206 \\360\\237\\214\\261 x:y (z) "q" 1.1.1 a_b => don\\342\\200\\231t\\n' > signs.md
    printf 'run\\0make' > sub/make-run
    printf 'esc\\033[31maped word\\tafter\\n' > escape.md
    seq -s ' ' 1000 | tr -d '\\n' > long.md; printf ' needle ' >> long.md; seq -s ' ' 1000 >> long.md`);
  await person.done('memory', 'import');
  await person.shell(`printf 'Use c++ only.\\n' > "$M/tests.md"; printf 'gone with the wind\\n' > "$M/gone.md"`);
  await person.done('memory', 'import');
  await person.done('memory', 'rm', 'gone.md');
  await person.shell(`rm "$M/gone.md"`);
  await person.done('memory', 'restore', 'tests.md', '--version', '1');
});

afterAll(async () => {
  await person.remove();
});

const search = (...args: string[]): Promise<string> => person.done('memory', 'search', ...args);

/** What a search finds, as `file:line`. */
async function places(...args: string[]): Promise<string[]> {
  return (await person.json<Hit[]>('memory', 'search', ...args)).map(({ file, line }) => `${file}:${line ?? ''}`);
}

test('prints file, line number and line, grouped by file, and a summary', async () => {
  expect(await search('run')).toBe(
    [
      'MEMORY.md',
      '  1: - [Tests](tests.md): how to run them',
      'sub/make-run',
      'tests.md',
      '  3: Run the',
      '',
      'found in 3 files, 2 lines',
      '',
    ].join('\n'),
  );
});

test('shows the lines with the most of the words', async () => {
  expect(await places('make', 'run')).toEqual(['sub/make-run:', 'tests.md:3', 'tests.md:4']);
  expect(await places('make', 'check', 'run')).toEqual(['tests.md:4']);
});

test('words are all there, in the text or in the name', async () => {
  expect(await places('how', 'memory')).toEqual(['MEMORY.md:1']);
  expect(await places('how', 'nosuch')).toEqual([]);
  expect(await places('sub')).toEqual(['sub/make-run:']);
});

describe('finds what was asked for', () => {
  test.each([
    [['the tests'], ['tests.md:3', 'tests.md:4']],
    [['"the tests" check'], ['tests.md:4']],
    [['tests the'], []],
    [['mak*'], ['sub/make-run:', 'tests.md:4']],
    [['mak'], []],
    [['make che*'], ['tests.md:4']],
    [['CAFE'], ['MEMORY.md:2', 'peinture.md:1']],
    [['crème'], ['peinture.md:1']],
    [['eleve'], ['MEMORY.md:2']],
    [['c++'], ['tests.md:1']],
    [['c--'], []],
    [['c+*'], ['tests.md:1']],
    [['foo-bar'], ['tests.md:1']],
    [['oo-bar'], []],
    [['bar-foo'], []],
    [['记忆'], ['signs.md:1']],
    [['🌱'], ['signs.md:1']],
    [['🌲'], []],
    [['1.1'], ['signs.md:1']],
    [['x:y'], ['signs.md:1']],
    [['body:run'], []],
    [['"'], ['signs.md:1']],
    [['('], ['MEMORY.md:1', 'MEMORY.md:2', 'signs.md:1']],
    [['=>'], ['signs.md:1']],
    [["don't"], ['signs.md:1']],
    [['a_b'], ['signs.md:1']],
    [['run NEAR make'], []],
    [['NEAR(run'], []],
    [['run', 'OR', 'nosuch'], []],
    [['AND'], ['tests.md:1']],
    [['*'], []],
    [["'; DROP TABLE document"], []],
  ] as [string[], string[]][])('%j', async (args, found) => {
    expect(await places(...args)).toEqual(found);
  });
});

test('a line that is too long is cut around what was found', async () => {
  const [, line = ''] = (await search('needle')).split('\n');
  expect(line).toMatch(/^ {2}1: ….{20,40}needle.{60,90}…$/);
  expect(line.length).toBeLessThanOrEqual(120);
  const [hit] = await person.json<Hit[]>('memory', 'search', 'needle');
  expect(hit?.text).toMatch(/^1 2 3 .* 1000$/);
});

test('what a terminal would obey is made visible, and finds are coloured there alone', async () => {
  expect(await search('word')).toContain('\n  1: esc^[[31maped word after\n'.slice(1));
  const line = [process.execPath, programPath(), 'memory', 'search', 'word'].map((word) => `'${word}'`).join(' ');
  const onTerminal = (env: Record<string, string>) =>
    person.user.run(['script', '-qec', line, '/dev/null'], { cwd: person.repository, env });
  expect((await onTerminal({ TERM: 'xterm-256color' })).stdout).toContain('aped \u001b[31mword\u001b[39m after');
  expect((await onTerminal({ TERM: 'xterm-256color', NO_COLOR: '1' })).stdout).not.toContain('\u001b');
});

test('--all-versions searches what was replaced and removed, each content once', async () => {
  expect(await places('only')).toEqual([]);
  expect(await search('--all-versions', 'only')).toBe(
    'tests.md  version 2\n  1: Use c++ only.\n\nfound in 1 content of 1 file, 1 line\n',
  );
  expect(await search('--all-versions', 'wind')).toContain('gone.md  versions 1, 2\n');
  expect(await search('--all-versions', 'check')).toContain('tests.md  versions 1, 3 (now)\n');
  expect(await person.json('memory', 'search', '--all-versions', 'check')).toEqual([
    { harness: 'claude', file: 'tests.md', version: 1, line: 4, text: 'tests with make check.' },
    { harness: 'claude', file: 'tests.md', version: 3, line: 4, text: 'tests with make check.' },
  ]);
});

test('--json has the whole line without its end, and no version unless all are searched', async () => {
  expect(await person.json('memory', 'search', 'how')).toEqual([
    { harness: 'claude', file: 'MEMORY.md', line: 1, text: '- [Tests](tests.md): how to run them' },
  ]);
  expect(await person.json('memory', 'search', 'make-run')).toEqual([
    { harness: 'claude', file: 'sub/make-run', line: null, text: null },
  ]);
});

test('that nothing is found is no failure', async () => {
  expect(await search('nosuch')).toBe(
    'no memory file of project "garden" has this word\n  --all-versions searches what was replaced or removed, too\n',
  );
  expect(await search('nosuch', 'word', '--all-versions')).toBe(
    'no version of a memory file of project "garden" has these words\n',
  );
  expect(await person.json('memory', 'search', 'nosuch')).toEqual([]);
  expect(await person.done('memory', 'search', '--help')).toMatch(
    /nothing is found is no\s+failure: the exit status is 0/,
  );
});

test('refuses what it cannot look for', async () => {
  for (const args of [[''], ['  '], ['""', ' ']])
    expectRefusal(await person.mend(['memory', 'search', ...args]), 2, /there is nothing to search for: name a word/);
  expectRefusal(await person.mend(['memory', 'search']), 2, /missing required argument 'words'/);
});

test('leaves nothing of what it read in any file: what is purged afterwards has no copy', async () => {
  const before = readdirSync(person.store).sort();
  const env = { TMPDIR: `${person.user.home}/tmp` };
  await person.shell('mkdir "$HOME/tmp"');
  expect(await person.mend(['memory', 'search', '--all-versions', 'peinture'], { env })).toMatchObject({ code: 0 });
  expect(readdirSync(`${person.user.home}/tmp`)).toEqual([]);
  expect(readdirSync(person.store).sort()).toEqual(before);
  expect(filesWith(person.store, 'gone with the wind').length).toBeGreaterThan(0);
  await person.done('memory', 'purge', 'gone.md', '--confirm', 'gone.md');
  expect(filesWith(person.store, 'gone with the wind')).toEqual([]);
  expect(await person.json('memory', 'search', '--all-versions', 'wind')).toEqual([]);
});

/** Together larger than what is indexed at a time. */
const PARTS = Array.from({ length: 24 }, (_, i) => String(i + 1));

test('a large memory is searched in parts', async () => {
  await person.shell(
    `for i in $(seq ${PARTS.length}); do { echo "part $i"; seq -f 'filler %g' 60000; echo "last of part $i"; } > "$M/part$i.md"; done`,
  );
  await person.done('memory', 'import');
  expect(await places('"part 1"')).toEqual(['part1.md:1', 'part1.md:60002']);
  expect(await places('last of', 'part')).toEqual([...PARTS].sort().map((part) => `part${part}.md:60002`));
  await person.shell('rm "$M"/part*.md');
});
