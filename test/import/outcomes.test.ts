import { expect, test } from 'vitest';
import { Exchange } from './folder.js';

/** The contents of the table. A and B change the base in different places; AB has both changes. */
const contents: Readonly<Record<string, Buffer>> = {
  base: Buffer.from('# Build\n\nmake all\n\nmake check\n'),
  A: Buffer.from('# Build\n\nneeds gcc\nmake all\n\nmake check\n'),
  B: Buffer.from('# Build\n\nmake all\n\nmake check\nmake install\n'),
  AB: Buffer.from('# Build\n\nneeds gcc\nmake all\n\nmake check\nmake install\n'),
  bin: Buffer.from('PNG\0\x01\x02'),
  enc: Buffer.from('caf\xe9 in another encoding\n', 'latin1'),
};

/**
 * Every pair of what the machine and the store can have. Where the last import was "base", both had the base then, and
 * what the store has now was saved since; where it was "none", this is the first import from that folder. "-" is
 * nothing: no file, no outcome, no versions.
 */
const table = `
| last import | machine now | store now | outcome   | store after | versions after, newest first              | next import |
| base        | -           | -         | -         | -           | removed base, imported base               | -           |
| base        | -           | base      | -         | base        | imported base                             | -           |
| base        | -           | A         | -         | A           | saved A, imported base                    | -           |
| base        | -           | B         | -         | B           | saved B, imported base                    | -           |
| base        | -           | bin       | -         | bin         | saved bin, imported base                  | -           |
| base        | -           | enc       | -         | enc         | saved enc, imported base                  | -           |
| base        | base        | -         | not added | -           | removed base, imported base               | not added   |
| base        | base        | base      | same      | base        | imported base                             | same        |
| base        | base        | A         | kept      | A           | saved A, imported base                    | kept        |
| base        | base        | B         | kept      | B           | saved B, imported base                    | kept        |
| base        | base        | bin       | kept      | bin         | saved bin, imported base                  | kept        |
| base        | base        | enc       | kept      | enc         | saved enc, imported base                  | kept        |
| base        | A           | -         | added     | A           | imported A, removed base, imported base   | same        |
| base        | A           | base      | updated   | A           | imported A, imported base                 | same        |
| base        | A           | A         | same      | A           | saved A, imported base                    | same        |
| base        | A           | B         | merged    | AB          | merged AB, saved B, imported base         | kept        |
| base        | A           | bin       | conflict  | bin         | conflict A, saved bin, imported base      | conflict    |
| base        | A           | enc       | conflict  | enc         | conflict A, saved enc, imported base      | conflict    |
| base        | B           | -         | added     | B           | imported B, removed base, imported base   | same        |
| base        | B           | base      | updated   | B           | imported B, imported base                 | same        |
| base        | B           | A         | merged    | AB          | merged AB, saved A, imported base         | kept        |
| base        | B           | B         | same      | B           | saved B, imported base                    | same        |
| base        | B           | bin       | conflict  | bin         | conflict B, saved bin, imported base      | conflict    |
| base        | B           | enc       | conflict  | enc         | conflict B, saved enc, imported base      | conflict    |
| base        | bin         | -         | added     | bin         | imported bin, removed base, imported base | same        |
| base        | bin         | base      | updated   | bin         | imported bin, imported base               | same        |
| base        | bin         | A         | conflict  | A           | conflict bin, saved A, imported base      | conflict    |
| base        | bin         | B         | conflict  | B           | conflict bin, saved B, imported base      | conflict    |
| base        | bin         | bin       | same      | bin         | saved bin, imported base                  | same        |
| base        | bin         | enc       | conflict  | enc         | conflict bin, saved enc, imported base    | conflict    |
| base        | enc         | -         | added     | enc         | imported enc, removed base, imported base | same        |
| base        | enc         | base      | updated   | enc         | imported enc, imported base               | same        |
| base        | enc         | A         | conflict  | A           | conflict enc, saved A, imported base      | conflict    |
| base        | enc         | B         | conflict  | B           | conflict enc, saved B, imported base      | conflict    |
| base        | enc         | bin       | conflict  | bin         | conflict enc, saved bin, imported base    | conflict    |
| base        | enc         | enc       | same      | enc         | saved enc, imported base                  | same        |
| none        | -           | -         | -         | -           | -                                         | -           |
| none        | -           | base      | -         | base        | saved base                                | -           |
| none        | -           | A         | -         | A           | saved A                                   | -           |
| none        | -           | B         | -         | B           | saved B                                   | -           |
| none        | -           | bin       | -         | bin         | saved bin                                 | -           |
| none        | -           | enc       | -         | enc         | saved enc                                 | -           |
| none        | base        | -         | added     | base        | imported base                             | same        |
| none        | base        | base      | same      | base        | saved base                                | same        |
| none        | base        | A         | merged    | A           | saved A                                   | kept        |
| none        | base        | B         | merged    | B           | saved B                                   | kept        |
| none        | base        | bin       | conflict  | bin         | conflict base, saved bin                  | conflict    |
| none        | base        | enc       | conflict  | enc         | conflict base, saved enc                  | conflict    |
| none        | A           | -         | added     | A           | imported A                                | same        |
| none        | A           | base      | merged    | A           | imported A, saved base                    | same        |
| none        | A           | A         | same      | A           | saved A                                   | same        |
| none        | A           | B         | merged    | AB          | merged AB, saved B                        | kept        |
| none        | A           | bin       | conflict  | bin         | conflict A, saved bin                     | conflict    |
| none        | A           | enc       | conflict  | enc         | conflict A, saved enc                     | conflict    |
| none        | B           | -         | added     | B           | imported B                                | same        |
| none        | B           | base      | merged    | B           | imported B, saved base                    | same        |
| none        | B           | A         | merged    | AB          | merged AB, saved A                        | kept        |
| none        | B           | B         | same      | B           | saved B                                   | same        |
| none        | B           | bin       | conflict  | bin         | conflict B, saved bin                     | conflict    |
| none        | B           | enc       | conflict  | enc         | conflict B, saved enc                     | conflict    |
| none        | bin         | -         | added     | bin         | imported bin                              | same        |
| none        | bin         | base      | conflict  | base        | conflict bin, saved base                  | conflict    |
| none        | bin         | A         | conflict  | A           | conflict bin, saved A                     | conflict    |
| none        | bin         | B         | conflict  | B           | conflict bin, saved B                     | conflict    |
| none        | bin         | bin       | same      | bin         | saved bin                                 | same        |
| none        | bin         | enc       | conflict  | enc         | conflict bin, saved enc                   | conflict    |
| none        | enc         | -         | added     | enc         | imported enc                              | same        |
| none        | enc         | base      | conflict  | base        | conflict enc, saved base                  | conflict    |
| none        | enc         | A         | conflict  | A           | conflict enc, saved A                     | conflict    |
| none        | enc         | B         | conflict  | B           | conflict enc, saved B                     | conflict    |
| none        | enc         | bin       | conflict  | bin         | conflict enc, saved bin                   | conflict    |
| none        | enc         | enc       | same      | enc         | saved enc                                 | same        |
`;

const rows = table
  .trim()
  .split('\n')
  .slice(1)
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

function nameOf(bytes: Buffer | undefined): string {
  if (bytes === undefined) return '-';
  return Object.entries(contents).find(([, content]) => content.equals(bytes))?.[0] ?? `unknown: ${bytes}`;
}

/** The content of a name. */
function named(name: string): Buffer {
  const content = contents[name];
  if (!content) throw new Error(`there is no content ${name}`);
  return content;
}

async function outcome(x: Exchange): Promise<string> {
  return (await x.takeIn())['a.md'] ?? '-';
}

test('the table has every pair', () => {
  const kinds = ['-', 'base', 'A', 'B', 'bin', 'enc'];
  const pairs = ['base', 'none'].flatMap((last) => kinds.flatMap((m) => kinds.map((s) => `${last} ${m} ${s}`)));
  expect(rows.map((row) => row.slice(0, 3).join(' '))).toEqual(pairs);
});

test.each(rows)('last import %s, machine now %s, store now %s: %s', async (...row) => {
  const [last = '', machine = '', store = '', expected = '', after = '', versions = '', next = ''] = row;
  const x = new Exchange();
  if (last === 'base') {
    x.lay('a.md', named('base'));
    expect(await outcome(x)).toBe('added');
  }
  if (store === '-' && last === 'base') x.remove('a.md');
  else if (store !== '-' && !(last === 'base' && store === 'base')) x.save('a.md', named(store));
  if (machine === '-') x.removeBelow('a.md');
  else x.lay('a.md', named(machine));

  const history = (): string => {
    const all = x.store.versions.of(x.tree.id, 'a.md');
    return all.map(({ kind, content }) => `${kind} ${nameOf(x.store.content(content))}`).join(', ') || '-';
  };
  const head = (): string => nameOf(x.headBytes('a.md'));
  expect(await outcome(x)).toBe(expected);
  expect(head()).toBe(after);
  expect(history()).toBe(versions);
  const changes = x.store.feed.last();
  expect(await outcome(x)).toBe(next);
  expect([head(), history()]).toEqual([after, versions]);
  expect(x.store.feed.last()).toBe(changes);
});
