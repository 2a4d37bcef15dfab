import { describe, expect, it } from 'vitest';
import { claude } from '../../src/harness/claude.js';
import { textLinks } from '../../src/import/index-links.js';
import { indexWarnings } from '../../src/import/index-warnings.js';

const index = claude.index;
if (!index) throw new Error('Claude Code has an index');

const targets = (text: string): string[] => textLinks(text).map(({ target }) => target);
const compare = (text: string, ...paths: string[]) => indexWarnings(index, text, ['MEMORY.md', ...paths]);
const dangling = (text: string, ...paths: string[]): string[] =>
  compare(text, ...paths).dangling.map(({ line, target }) => `${line}: ${target}`);
const missing = (text: string, ...paths: string[]): readonly string[] => compare(text, ...paths).missing;

describe('links of a text', () => {
  it.each<[string, string[]]>([
    ['- [Tests](tests.md) — hook', ['tests.md']],
    ['[a](a.md), [b](b.md) and [c]( c.md )', ['a.md', 'b.md', 'c.md']],
    ['| [`a.md`](a.md) | [b](<b c.md>) |', ['a.md', 'b c.md']],
    ['[a](a.md "a title") [b](b.md \'t\') [c](c.md (t)) [d](<d.md> "t")', ['a.md', 'b.md', 'c.md', 'd.md']],
    ['[a](my note.md) [b](a_(b).md) [c](a\\).md)', ['my note.md', 'a_(b).md', 'a).md']],
    ['![image](a.png) [![image](b.png)](c.md)', ['c.md']],
    ['[nested [brackets]](a.md) [odd \\] bracket](b.md)', ['a.md', 'b.md']],
    ['`[a](a.md)` ``[b](`b.md)`` [c](c.md)', ['c.md']],
    ['` [a](a.md)', ['a.md']],
    ['```\n[a](a.md)\n```\n[b](b.md)', ['b.md']],
    ['~~~md\n```\n[a](a.md)\n~~~ \n[b](b.md)', ['b.md']],
    ['````\n```\n[a](a.md)\n````\n[b](b.md)', ['b.md']],
    ['- ```sh\n  [a](a.md)\n  ```\n- [b](b.md)', ['b.md']],
    ['```\n[a](a.md)', []],
    ['<!-- [a](a.md)\n[b](b.md) --> [c](c.md)', ['c.md']],
    ['[a][ref]\n\n[ref]: a.md "title"\n[other]: <b c.md>\n[^1]: c.md', ['a.md', 'b c.md']],
    ['a text that began\nbefore](a.md)', ['a.md']],
    ['[a](a.md', []],
    ['[a]() [b] (b.md)', ['']],
    ['\\[a](a.md)', ['a.md']],
  ])('%j', (text, found) => {
    expect(targets(text)).toEqual(found);
  });

  it('have the number of their line, also with CRLF', () => {
    expect(textLinks('a\r\n[b](b.md)\r\n\r\n[c](c.md)\r\n')).toEqual([
      { line: 2, target: 'b.md' },
      { line: 4, target: 'c.md' },
    ]);
  });

  it('are found in time in a text made to be slow', { timeout: 30_000 }, () => {
    for (const part of ['[', '](', '[a](', '`', '``` ', '`a``b', '<!--', '[a](<', '\\', '[a](b "', '[](<a> ('])
      expect(textLinks(part.repeat(200_000 / part.length)).every(({ line }) => line === 1)).toBe(true);
  });
});

describe('links to files that are not there', () => {
  it.each<[string, string[], string[]]>([
    ['[a](a.md)', ['a.md'], []],
    ['x\n[a](gone.md)', ['a.md'], ['2: gone.md']],
    ['[a](./a.md) [b](sub/b.md) [s](sub/) [s](sub)', ['a.md', 'sub/b.md'], []],
    ['[a](sub/../a.md#part) [b](a.md?x)', ['a.md'], []],
    ['[a](a%20b.md) [b](<a b.md>) [c](a b.md)', ['a b.md'], []],
    ['[a](100%.md) [b](a#1.md)', ['100%.md', 'a#1.md'], []],
    ['[a](caf%C3%A9.md) [b](cafe\u0301.md)', ['café.md'], []],
    ['[a](café.md)', ['cafe\u0301.md'], []],
    ['[a](https://example.org/x.md) [b](mailto:a@b.c) [c](//host/x) [d](#part) [e]()', [], []],
    ['[a](/etc/hosts) [b](~/x.md) [c](../../src/x.ts)', [], []],
    ['[[some-name]] and `gone.md` and gone.md', [], []],
    ['[a](A.md)', ['a.md'], ['1: A.md']],
    ['[a](src/x.ts)', [], ['1: src/x.ts']],
  ])('%j', (text, paths, found) => {
    expect(dangling(text, ...paths)).toEqual(found);
  });
});

describe('notes that the index does not name', () => {
  it('are Markdown files on every level, but hidden ones and indexes', () => {
    const paths = ['a.md', 'sub/b.md', 'data.json', '.hidden.md', '.obsidian/x.md', 'note.txt', 'c.MD'];
    expect(missing('', ...paths)).toEqual(['a.md', 'sub/b.md']);
  });

  it.each<[string, string]>([
    ['a link', '[b](b.md)'],
    ['a link with another form of the same place', '[b](./sub/../b.md#part)'],
    ['its name in code', 'see `b.md`'],
    ['its name in a table', '|b.md|'],
    ['a link in double brackets', 'see [[b]], [[b|text]]'],
    ['its name, bold', '**b.md**'],
    ['its name behind a dot and a slash', 'see ./b.md.'],
    ['its name in a block of code', '```\nb.md\n```'],
  ])('are not those named by %s', (_, text) => {
    expect(missing(text, 'b.md')).toEqual([]);
  });

  it.each(['ab.md', 'a-b.md', 'b.mdx', 'sub/b.md', 'b', '[[ab]]'])('are those named by %j', (text) => {
    expect(missing(text, 'b.md')).toEqual(['b.md']);
  });

  it('of a sub-folder are named by their path, their name, or their folder', () => {
    for (const text of ['sub/b.md', '`b.md`', '[all](sub/)', '[all](sub)', '[[b]]'])
      expect(missing(text, 'sub/b.md'), text).toEqual([]);
    expect(missing('other/b.md', 'sub/b.md')).toEqual(['sub/b.md']);
  });

  it('are not those of a folder with an index of its own', () => {
    expect(missing('', 'team/MEMORY.md', 'team/x.md', 'team/deep/y.md', 'z/x.md')).toEqual(['z/x.md']);
  });
});

describe('what is loaded', () => {
  const lines = (count: number, text = 'x'): string => `${text}\n`.repeat(count);

  it('is all of it up to 200 lines and 25,000 characters', () => {
    for (const text of ['', '\n', lines(200), `\n\n${lines(200)}\n\n`, 'x'.repeat(25_000), `${'é'.repeat(25_000)}\n`])
      expect(compare(text).loaded).toBeUndefined();
  });

  it('is counted in lines of the file', () => {
    expect(compare(lines(201)).loaded).toEqual({ lines: 200, of: 201 });
    expect(compare(`\n\n${lines(201)}`).loaded).toEqual({ lines: 202, of: 203 });
    expect(compare(lines(300, 'x'.repeat(99))).loaded).toEqual({ lines: 200, of: 300 });
    expect(compare(lines(150, 'x'.repeat(249))).loaded).toEqual({ lines: 100, of: 150 });
    expect(compare(`${'x'.repeat(25_001)}`).loaded).toEqual({ lines: 0, of: 1 });
    expect(compare(`short\n${'x'.repeat(25_000)}\nshort`).loaded).toEqual({ lines: 1, of: 3 });
  });
});
