import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programPath } from '../support/program.js';
import type { RunResult } from '../support/users.js';
import { expectRefusal, Person } from './person.js';

let person: Person;

beforeAll(async () => {
  person = await Person.make();
  await person.done('mount');
  await person.shell(`printf 'one\\ntwo\\nthree\\n' > "$M/note.md"
    printf 'one\\n2\\nthree\\n' > "$M/note.md"; printf 'one\\n2\\nthree\\nfour' > "$M/note.md"
    printf 'once\\n' > "$M/once.md"
    printf 'was here\\n' > "$M/gone.md"; printf 'was here, too\\n' > "$M/gone.md"; rm "$M/gone.md"
    printf 'a\\0b' > "$M/binary"; printf 'a\\0c' > "$M/binary"
    printf 'plain\\n' > "$M/escape.md"; printf 'pl\\033[31main\\r\\n\\302\\233x\\n' > "$M/escape.md"
    mkdir "$M/d"; printf 'in a folder\\n' > "$M/d/a.md"; rm -r "$M/d"`);
});

afterAll(async () => {
  await person.remove();
});

const diff = (...args: string[]): Promise<string> => person.done('memory', 'diff', ...args);
const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d`;

/** Runs a command on a terminal, what is typed given beforehand. */
function onTerminal(args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<RunResult> {
  const line = [process.execPath, programPath(), ...args].map((word) => `'${word}'`).join(' ');
  return person.user.run(['script', '-qec', line, '/dev/null'], { cwd: person.repository, env, input });
}

describe('memory diff', () => {
  test('shows the last change', async () => {
    const text = await diff('note.md');
    expect(text).toMatch(
      new RegExp(
        `^--- a/note\\.md\\tversion 2 \\(saved ${time}\\)\\n\\+\\+\\+ b/note\\.md\\tversion 3 \\(saved ${time}\\)\\n`,
      ),
    );
    expect(text.split('\n').slice(2)).toEqual([
      '@@ -1,3 +1,4 @@',
      ' one',
      ' 2',
      ' three',
      '+four',
      '\\ No newline at end of file',
      '',
    ]);
  });

  test('shows a version against what the file holds, and two versions against each other, in either order', async () => {
    expect(await diff('note.md', '1')).toMatch(/\n-two\n\+2\n three\n\+four\n/);
    expect(await diff('note.md', '1', '2')).toMatch(
      /version 1 .*\n.*version 2 .*\n@@ -1,3 \+1,3 @@\n one\n-two\n\+2\n/,
    );
    expect(await diff('claude:note.md', '2', '1')).toMatch(/\n-2\n\+two\n/);
    expect(await diff('note.md', '3')).toBe('version 3 of note.md is what it holds now\n');
    expect(await diff('note.md', '2', '2')).toBe('versions 2 and 2 of note.md are the same\n');
  });

  test('is a patch that Git applies', async () => {
    await person.shell(`printf 'one\\ntwo\\nthree\\n' > "$HOME/note.md"`);
    const input = await diff('note.md', '1', '3');
    const result = await person.user.run(['git', 'apply', '-'], { cwd: person.user.home, input });
    expect(result, result.stderr).toMatchObject({ code: 0 });
    expect(await person.shell('cat "$HOME/note.md"')).toBe('one\n2\nthree\nfour');
  });

  test('of a file with one version shows all of it as added', async () => {
    const text = await diff('once.md');
    expect(text).toMatch(/^--- \/dev\/null\n\+\+\+ b\/once\.md\tversion 1 /);
    expect(text).toMatch(/\n@@ -0,0 \+1,1 @@\n\+once\n$/);
  });

  test('of a removed file goes by its versions', async () => {
    expect(await diff('gone.md')).toMatch(/\n-was here\n\+was here, too\n$/);
    expect(await diff('gone.md', '1')).toMatch(/version 3 \(removed .*\n@@.*\n-was here\n\+was here, too\n$/);
    expect(await diff('gone.md', '1', '2')).toMatch(/\n-was here\n\+was here, too\n$/);
    expect(await diff('gone.md', '2')).toBe('version 2 of gone.md is what it held last\n');
  });

  test('says of what is not text that it differs', async () => {
    expect(await diff('binary')).toMatch(
      new RegExp(
        `^version 1 \\(saved ${time}\\) and version 2 \\(saved ${time}\\) of binary differ, and are not text\\n$`,
      ),
    );
  });

  test('gives bytes as they are, but makes them harmless on a terminal', async () => {
    expect(await diff('escape.md')).toContain('\n+pl\u001b[31main\r\n+\u009bx\n');
    const { stdout } = await onTerminal(['memory', 'diff', 'escape.md'], { NO_COLOR: '1' });
    for (const c of ['\u001b', '\u009b']) expect(stdout).not.toContain(c);
    expect(stdout).toContain('+pl^[[31main^M\r\n+<U+009B>x\r\n');
    const shown = await onTerminal(['memory', 'show', 'escape.md']);
    expect(shown.stdout).toBe('pl^[[31main\r\n<U+009B>x\r\n');
    expect(await person.done('memory', 'show', 'escape.md')).toBe('pl\u001b[31main\r\n\u009bx\n');
  });

  test('has colours on a terminal, and only there', async () => {
    const { stdout } = await onTerminal(['memory', 'diff', 'note.md', '1'], { TERM: 'xterm-256color' });
    expect(stdout).toContain('\u001b[31m-two\u001b[39m');
    expect(stdout).toContain('\u001b[32m+2\u001b[39m');
    expect(await diff('note.md', '1')).not.toContain('\u001b');
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }, { FORCE_COLOR: '0' }])
      expect((await onTerminal(['memory', 'diff', 'note.md', '1'], env)).stdout).not.toContain('\u001b');
  });

  test('takes a moment for texts that have nothing in common', async () => {
    await person.shell(`seq -f 'a %g' 50000 > "$M/large.md"; seq -f 'b %g' 50000 > "$M/large.md"`);
    const before = performance.now();
    const text = await diff('large.md');
    expect(performance.now() - before).toBeLessThan(20_000);
    expect(text.match(/^-a /gm)).toHaveLength(50_000);
    expect(text.match(/^\+b /gm)).toHaveLength(50_000);
    expect(text).toContain('\n@@ -1,50000 +1,50000 @@\n');
    await person.done('memory', 'rm', 'large.md');
  });

  test.each([
    [['nosuch.md'], 1, /has no memory file nosuch\.md: "mend memory" lists the files/],
    [['note.md', '9'], 1, /note\.md has no version 9: "mend memory log" lists them/],
    [['note.md', '1', '9'], 1, /note\.md has no version 9/],
    [['note.md', '0'], 2, /0 is not the number of a version/],
    [['note.md', 'x'], 2, /x is not the number of a version/],
    [['note.md', '1', '2', '3'], 2, /too many arguments/],
    [['../x'], 2, /cannot be a memory file/],
  ] as [string[], number, RegExp][])('%s', async (args, code, sentence) => {
    expectRefusal(await person.mend(['memory', 'diff', ...args]), code, sentence);
  });
});

describe('memory restore', () => {
  test('makes a version what every mount shows when it returns, and is a version itself', async () => {
    expect(await person.done('memory', 'restore', 'note.md', '--version', '1')).toBe('restored version 1 of note.md\n');
    expect(await person.shell(`cat "$M/note.md"`)).toBe('one\ntwo\nthree\n');
    const [newest] = await person.json<{ kind: string; version: number; session: string }[]>(
      'memory',
      'log',
      'note.md',
    );
    expect(newest).toMatchObject({ version: 4, kind: 'restored', session: 'mend memory restore' });
    expect(await diff('note.md')).toMatch(/version 3 .*\n.*version 4 \(restored /);
  });

  test('of what the file holds changes nothing', async () => {
    const before = await person.json('memory', 'log', 'note.md');
    expect(await person.done('memory', 'restore', 'note.md', '--version', '4')).toBe(
      'note.md holds version 4 already\n',
    );
    expect(await person.done('memory', 'restore', 'note.md', '--version', '1')).toBe(
      'note.md holds version 1 already\n',
    );
    expect(await person.json('memory', 'log', 'note.md')).toEqual(before);
  });

  test('brings a removed file back, with its folders', async () => {
    await person.done('memory', 'restore', 'gone.md', '--version', '1');
    await person.done('memory', 'restore', 'd/a.md', '--version', '1');
    expect(await person.shell(`cat "$M/gone.md" "$M/d/a.md"`)).toBe('was here\nin a folder\n');
  });

  test('is refused where something else has the place', async () => {
    await person.shell(`printf x > "$M/a-file"; rm "$M/a-file"; mkdir "$M/a-file"
      mkdir "$M/a-folder"; printf x > "$M/a-folder/b.md"; rm -r "$M/a-folder"; printf y > "$M/a-folder"`);
    const before = await person.json('memory', 'log');
    expectRefusal(
      await person.mend(['memory', 'restore', 'a-file', '--version', '1']),
      1,
      /a-file cannot be restored, as a folder has its name now: rename or remove the folder/,
    );
    expectRefusal(
      await person.mend(['memory', 'restore', 'a-folder/b.md', '--version', '1']),
      1,
      /b\.md cannot be restored, as one of its folders is a file now: rename or remove that file/,
    );
    expect(await person.json('memory', 'log')).toEqual(before);
    await person.shell(`rmdir "$M/a-file"; rm "$M/a-folder"`);
  });

  test('respects the limits', async () => {
    const limits = async (text: string): Promise<RunResult> => {
      await person.shell(
        `mkdir -p "$HOME/.config/mend"; printf 'limits: {${text}}' > "$HOME/.config/mend/config.yaml"`,
      );
      return person.mend(['memory', 'restore', 'a-file', '--version', '1']);
    };
    expectRefusal(await limits('files: 2'), 1, /a-file cannot be restored over the limit of 2 files/);
    expectRefusal(await limits('bytes: 10'), 1, /a-file cannot be restored over the limit of 10 bytes/);
    await person.shell(`printf 'limits: {file_bytes: 5}' > "$HOME/.config/mend/config.yaml"`);
    expectRefusal(
      await person.mend(['memory', 'restore', 'note.md', '--version', '3']),
      1,
      /note\.md cannot be restored over the limit of 5 bytes for one file/,
    );
    await person.shell(`rm "$HOME/.config/mend/config.yaml"`);
    await person.done('memory', 'restore', 'a-file', '--version', '1');
  });

  test.each([
    [['nosuch.md', '--version', '1'], 1, /has no memory file nosuch\.md/],
    [['note.md', '--version', '99'], 1, /note\.md has no version 99/],
    [['note.md'], 2, /required option '--version <number>' not specified/],
    [['note.md', '--version', '-1'], 2, /-1 is not the number of a version/],
    [['a/../b', '--version', '1'], 2, /cannot be a memory file/],
  ] as [string[], number, RegExp][])('%s', async (args, code, sentence) => {
    expectRefusal(await person.mend(['memory', 'restore', ...args]), code, sentence);
  });
});
