import { describe, expect, test } from 'vitest';
import { mergedText, mergeTexts } from './support.js';

/** A note with frontmatter of these lines. */
function note(...lines: string[]): string {
  return `---\n${lines.map((line) => `${line}\n`).join('')}---\n\nbody\n`;
}

const plain = ['name: n', 'description: d', 'type: t'];

describe('keys', () => {
  test('next to each other, changed by different sides', () => {
    const merged = mergedText(
      note(...plain),
      note('name: N', 'description: d', 'type: t'),
      note('name: n', 'description: D', 'type: t'),
    );
    expect(merged).toBe(note('name: N', 'description: D', 'type: t'));
  });

  test('added by both at the same place', () => {
    const merged = mergedText(note(...plain), note(...plain, 'store: s'), note(...plain, 'other: o'));
    expect(merged).toBe(note(...plain, 'store: s', 'other: o'));
  });

  test('added by both with the same value', () => {
    const merged = mergedText(note('a: 1'), note('a: 1', 'b: 2', 'c: 3'), note('a: 1', 'b: 2', 'd: 4'));
    expect(merged).toBe(note('a: 1', 'b: 2', 'c: 3', 'd: 4'));
  });

  test('with different values: the store keeps its own, the other is a comment', () => {
    const merged = mergedText(note('a: 1', 'b: 2'), note('a: s', 'b: 2'), note('a: o', 'b: 2'));
    expect(merged).toBe(note('a: s', '# from laptop, 2026-07-01: a: o', 'b: 2'));
  });

  test('the comment is not repeated, whatever the day', () => {
    const base = note('a: 1', 'b: 2');
    const once = mergedText(base, note('a: s', 'b: 2'), note('a: o', 'b: 2'));
    const later = { from: { host: 'desktop', date: '2027-01-01' } };
    expect(mergedText(base, once, note('a: o', 'b: 2'), later)).toBe(once);
    expect(mergedText(base, once, note('a: s', 'b: 2'), later)).toBe(once);
    expect(mergedText(base, note('a: s', 'b: 2'), once, later)).toBe(once);
    expect(mergedText(null, once, note('a: o', 'b: 2'), later)).toBe(once);
    expect(mergedText(base, once, note('a: o2', 'b: 2'), later)).toBe(
      note('a: s', '# from desktop, 2027-01-01: a: o2', '# from laptop, 2026-07-01: a: o', 'b: 2'),
    );
  });

  test('removed by one side, left or changed by the other', () => {
    const base = note('a: 1', 'b: 2', 'c: 3');
    expect(mergedText(base, note('a: 1', 'c: 3'), note('a: A', 'b: 2', 'c: 3'))).toBe(note('a: A', 'c: 3'));
    expect(mergedText(base, note('a: 1', 'c: 3'), note('a: 1', 'b: B', 'c: 3'))).toBe(note('a: 1', 'b: B', 'c: 3'));
    expect(mergedText(base, note('a: 1', 'b: B', 'c: 3'), note('a: 1', 'c: C'))).toBe(note('a: 1', 'b: B', 'c: C'));
  });

  test('keep the order of the store', () => {
    const merged = mergedText(
      note('a: 1', 'b: 2', 'c: 3'),
      note('c: 3', 'a: 1', 'b: B'),
      note('b: 2', 'a: A', 'c: 3', 'n: 4'),
    );
    expect(merged).toBe(note('c: 3', 'n: 4', 'a: A', 'b: B'));
  });

  test('whose value is no valid YAML are text', () => {
    const base = note('description: Two states: none seeds it', 'b: `x` is #1', 'c: 1 # one');
    const merged = mergedText(base, base.replace('seeds', 'saves'), base.replace('#1', '#2').replace('# one', '# two'));
    expect(merged).toBe(note('description: Two states: none saves it', 'b: `x` is #2', 'c: 1 # two'));
  });

  test('that differ in blanks behind them only', () => {
    const base = note('metadata: ', '  type: a', 'x: 1');
    expect(mergedText(base, base.replace('x: 1', 'x: 2'), base.replace('metadata: ', 'metadata:'))).toBe(
      note('metadata:', '  type: a', 'x: 2'),
    );
  });
});

describe('quotes', () => {
  test('alone are no change of a value', () => {
    expect(mergedText(note('a: "x"'), note("a: 'x'"), note('a: "y"'))).toBe(note('a: "y"'));
    expect(mergedText(note('a: "x"'), note('a: "y"'), note('a: x'))).toBe(note('a: "y"'));
    expect(mergedText(note('a: x'), note("a: 'it''s'"), note('a: "it\'s"'))).toBe(note("a: 'it''s'"));
    expect(mergedText(note('a: x'), note('a: é'), note('a: "\\u00e9"'))).toBe(note('a: é'));
  });

  test('make a text of a number', () => {
    expect(mergedText(note('a: 0'), note('a: 5'), note('a: "5"'))).toBe(
      note('a: 5', '# from laptop, 2026-07-01: a: "5"'),
    );
    expect(mergedText(note('a: 0'), note('a: true'), note("a: 'true'"))).toContain(
      "# from laptop, 2026-07-01: a: 'true'",
    );
  });
});

describe('nested keys', () => {
  const base = note('name: n', 'metadata: ', '  node_type: memory', '  type: feedback', '  modified: 1');

  test('changed by both sides', () => {
    const merged = mergedText(
      base,
      base.replace('feedback', 'user'),
      base.replace('modified: 1', 'modified: 2\n  extra: e'),
    );
    expect(merged).toBe(
      note('name: n', 'metadata: ', '  node_type: memory', '  type: user', '  modified: 2', '  extra: e'),
    );
  });

  test('that the harness maintains take the newer value without a comment', () => {
    const [store, other] = [base.replace('modified: 1', 'modified: 2'), base.replace('modified: 1', 'modified: 3')];
    expect(mergedText(base, store, other, { newer: 'other' })).toBe(other);
    expect(mergedText(base, store, other, { newer: 'store' })).toBe(store);
    expect(mergedText(null, store, other, { newer: 'other' })).toBe(other);
  });

  test('keep their comment at their indent', () => {
    const merged = mergedText(base, base.replace('feedback', 's'), base.replace('feedback', 'o'));
    expect(merged).toContain('\n  type: s\n  # from laptop, 2026-07-01: type: o\n  modified: 1\n');
    const again = mergedText(base, merged, base.replace('feedback', 'o'));
    expect(again).toBe(merged);
  });

  test('as the last of their mapping do not repeat the comment either', () => {
    const [start, store, other] = [
      note('m:', '  a: 1', 'z: 1'),
      note('m:', '  a: s', 'z: 1'),
      note('m:', '  a: o', 'z: 1'),
    ];
    const merged = mergedText(start, store, other);
    expect(merged).toBe(note('m:', '  a: s', '  # from laptop, 2026-07-01: a: o', 'z: 1'));
    expect(mergedText(start, merged, other)).toBe(merged);
  });

  test('are moved there by one side while the other changes keys beside them', () => {
    const merged = mergedText(
      note('name: n', 'type: t', 'id: 1'),
      note('name: N', 'type: t', 'id: 1'),
      note('name: n', 'metadata:', '  type: t'),
    );
    expect(merged).toBe(note('name: N', 'metadata:', '  type: t'));
  });

  test('take the indent of the store', () => {
    const merged = mergedText(note('m:', '  a: 1'), note('m:', '    a: 1', '    s: 1'), note('m:', '  a: 1', '  o: 1'));
    expect(merged).toBe(note('m:', '    a: 1', '    s: 1', '    o: 1'));
  });

  test('stay as far as they were changed when the other side removes the mapping', () => {
    const merged = mergedText(base, note('name: N'), base.replace('feedback', 'user'));
    expect(merged).toBe(note('name: N', 'metadata: ', '  type: user'));
  });

  test('at any depth', () => {
    const deep = (value: string, more = '') =>
      note('a:', '  b:', '    c:', `      d: ${value}`, ...(more ? [more] : []));
    expect(mergedText(deep('1'), deep('2'), deep('1', '      e: 3'))).toBe(deep('2', '      e: 3'));
  });

  test('against a value', () => {
    const merged = mergedText(note('a: 1'), note('a: s'), note('a:', '  b: 2'));
    expect(merged).toBe(note('a: s', '# from laptop, 2026-07-01: a:', '# from laptop, 2026-07-01:   b: 2'));
    expect(mergedText(note('a: 1'), merged, note('a:', '  b: 2'))).toBe(merged);
    expect(mergedText(note('a: 1', 'b: 1'), note('a: 1', 'b: 2'), note('a:', '  b: 2', 'b: 1'))).toBe(
      note('a:', '  b: 2', 'b: 2'),
    );
  });
});

describe('lists', () => {
  test('keep the items of both sides once', () => {
    const merged = mergedText(
      note('tags:', '  - a', '  - b'),
      note('tags:', '  - a', '  - b', '  - s', '  - x'),
      note('tags:', '  - a', '  - b', '  - x', '  - o'),
    );
    expect(merged).toBe(note('tags:', '  - a', '  - b', '  - s', '  - x', '  - o'));
  });

  test('lose what one side removed', () => {
    expect(
      mergedText(note('t:', '- a', '- b', '- c'), note('t:', '- a', '- c'), note('t:', '- a', '- b', '- c', '- d')),
    ).toBe(note('t:', '- a', '- c', '- d'));
  });

  test('without a base keep all', () => {
    expect(mergedText(null, note('t:', '- a', '- "b"'), note('t:', '- b', '- c'))).toBe(
      note('t:', '- a', '- "b"', '- c'),
    );
  });

  test('of one line are values', () => {
    expect(mergedText(note('t: [a]'), note('t: [a, s]'), note('t: [a, o]'))).toBe(
      note('t: [a, s]', '# from laptop, 2026-07-01: t: [a, o]'),
    );
  });
});

describe('comments and blank lines', () => {
  test('stay where they are', () => {
    const base = note('# about', 'a: 1', '', '# of b', 'b: 2');
    expect(mergedText(base, base.replace('a: 1', 'a: A'), base.replace('b: 2', 'b: B'))).toBe(
      note('# about', 'a: A', '', '# of b', 'b: B'),
    );
  });

  test('are added and removed like keys', () => {
    expect(mergedText(note('# x', 'a: 1', 'b: 2'), note('a: 1', 'b: 3'), note('# x', 'a: 1', '# y', 'b: 2'))).toBe(
      note('a: 1', '# y', 'b: 3'),
    );
  });
});

describe('frontmatter as a whole', () => {
  test('is added or removed by one side', () => {
    expect(mergedText('body\n', '---\na: 1\n---\nbody\n', 'body\nmore\n')).toBe('---\na: 1\n---\nbody\nmore\n');
    expect(mergedText('---\na: 1\n---\nbody\n', 'body\n', '---\na: 1\n---\nbody\nmore\n')).toBe('body\nmore\n');
    expect(mergedText(null, 'body\n', '---\na: 1\n---\nbody\n')).toBe('---\na: 1\n---\nbody\n');
  });

  test('is removed by one side and changed by the other', () => {
    expect(mergedText('---\na: 1\nb: 2\n---\nx\n', 'x\n', '---\na: A\nb: 2\n---\nx\n')).toBe('---\na: A\n---\nx\n');
  });

  test('is written by both without a base', () => {
    const merged = mergedText('', note('a: 1', 's: 1'), note('a: 1', 'o: 1'));
    expect(merged).toBe(note('a: 1', 's: 1', 'o: 1'));
  });

  test('begins on the first line only; a rule further down is text', () => {
    expect(mergedText('x\n---\na: 1\n---\n', 'x\n---\na: 1\na: 2\n---\n', 'x\n---\na: 1\na: 3\n---\n')).toBe(
      'x\n---\na: 1\na: 2\na: 3\n---\n',
    );
  });

  test('is found behind a byte order mark and with CRLF', () => {
    const base = '\ufeff---\r\na: 1\r\nb: 2\r\n---\r\nx\r\n';
    expect(mergedText(base, base.replace('1', '3'), base.replace('2', '4'))).toBe(
      '\ufeff---\r\na: 3\r\nb: 4\r\n---\r\nx\r\n',
    );
  });

  test('and body are merged apart', () => {
    const merged = mergedText('---\na: 1\n---\nx\n', '---\na: 2\n---\nx\ns\n', '---\na: 1\nb: 1\n---\nx\no\n');
    expect(merged).toBe('---\na: 2\nb: 1\n---\nx\ns\no\n');
  });

  test('of a file that is read as a whole is not looked at', () => {
    expect(mergeTexts('---\na: 1\n---\n', '---\na: 2\n---\n', '---\na: 3\n---\n', { path: 'x.yaml' })).toMatchObject({
      reason: 'does not parse',
    });
  });
});

describe('what is beyond plain keys and lists', () => {
  const beyond = {
    'a block scalar': ['a: |', '  x'],
    'a folded scalar': ['a: >-', '  x'],
    'brackets over several lines': ['a: [1,', '  2]'],
    'an anchor': ['a: &x 1'],
    'an alias': ['a: *x'],
    'a tag': ['a: !!str 1'],
    'a text over several lines': ['a: x', '  y'],
    'a quoted text over several lines': ['a: "x', '  y"'],
    'a key twice': ['a: 1', 'a: 2'],
    'a key twice, once in quotes': ['a: 1', '"a": 2'],
    'a list in a list': ['a:', '  - - x'],
    'a tab for an indent': ['a:', '\tb: 1'],
    'a line that is no key': ['a'],
    'a broken indent': ['a:', '    b: 1', '  c: 2'],
  };

  test.each(Object.entries(beyond))('%s is refused when both sides changed that part', (_what, lines) => {
    const base = note('z: 1', ...lines);
    const [store, other] = [base.replace('z: 1', 'z: 2'), base.replace('z: 1', 'z: 1\ny: 1')];
    expect(mergeTexts(base, store, other)).toEqual({ kind: 'refused', reason: 'frontmatter' });
    expect(mergeTexts(null, store, other)).toEqual({ kind: 'refused', reason: 'frontmatter' });
  });

  test.each(Object.entries(beyond))('%s is merged when one side changed that part', (_what, lines) => {
    const base = note('z: 1', ...lines);
    const merged = mergedText(base, base.replace('z: 1', 'z: 2'), `${base}more\n`);
    expect(merged).toBe(`${base.replace('z: 1', 'z: 2')}more\n`);
    expect(mergedText(base, `${base}more\n`, base.replace('z: 1', 'z: 2'))).toBe(merged);
  });

  test('is put right by both sides', () => {
    expect(mergedText(note('a: |', '  x', 'b: 1'), note('a: x', 'b: 1'), note('a: x', 'b: 2'))).toBe(
      note('a: x', 'b: 1', '# from laptop, 2026-07-01: b: 2'),
    );
  });

  test('a missing end: by lines when one side changed that part, refused when both did', () => {
    const base = '---\na: 1\nb: 2\n\nbody\n';
    expect(mergedText(base, base.replace('1', '3'), `${base}more\n`)).toBe('---\na: 3\nb: 2\n\nbody\nmore\n');
    expect(mergedText(base, base.replace('b: 2\n', 'b: 2\n---\n'), `${base}more\n`)).toBe(
      '---\na: 1\nb: 2\n---\n\nbody\nmore\n',
    );
    expect(mergeTexts(base, base.replace('1', '3'), base.replace('2', '4'))).toMatchObject({ reason: 'frontmatter' });
    expect(mergeTexts(null, base, base.replace('2', '4'))).toMatchObject({ reason: 'frontmatter' });
  });

  test('between two rules may be text, which is merged as such', () => {
    const text = (line: string) => `---\n\nSome words.\n\nNote: ${line}\n\n---\n\nrest\n`;
    expect(mergedText(text('x'), text('s'), text('o'))).toBe(text('s\nNote: o'));
  });

  test('a text that begins with a rule is no frontmatter without an end', () => {
    expect(mergedText('---\n\nText\n', '---\n\nText\ns\n', '---\n\nText\no\n')).toBe('---\n\nText\ns\no\n');
  });
});

test('the comment stays one line whatever the machine is called', () => {
  const from = { host: 'a: b\n---\u0000', date: 'Käse' };
  const merged = mergedText(note('a: 1'), note('a: s'), note('a: o'), { from });
  expect(merged).toBe(note('a: s', '# from a b ---, Käse: a: o'.replace('---,', '--- ,')));
  expect(mergedText(note('a: 1'), merged, note('a: o'), { from })).toBe(merged);
});
