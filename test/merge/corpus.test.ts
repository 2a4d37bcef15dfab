import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findFrontmatter } from '../../src/merge/frontmatter-range.js';
import { leastShared, longEnough, measureLikeness } from '../../src/merge/likeness.js';
import { merge } from '../../src/merge/merge.js';
import { LineTable, splitLines } from '../../src/merge/text.js';
import { corpusTable, mergeCase, reportedCases } from './corpus-table.js';
import { missing, triplesOf } from './notes.js';
import { type CorpusTriple, corpus, mergedText, mergeTexts, options, readTriples, withoutCorpus } from './support.js';

if (corpus === undefined) process.stderr.write(`skipped: ${withoutCorpus}\n`);

const triples = corpus === undefined ? [] : readTriples(corpus);
const merging = triples.filter((triple): triple is CorpusTriple & { other: Buffer } => triple.other !== null);

describe.skipIf(corpus === undefined)(corpus === undefined ? withoutCorpus : 'real notes', () => {
  test('are all there', () => {
    expect(triples.length).toBeGreaterThan(30);
    // What one side deleted is not merged: the newer save wins where a file is removed.
    expect(triples.length - merging.length).toBe(0);
  });

  test.each(merging)('$id is merged without losing a line, and once', ({ base, store, other, result }) => {
    const merged = merge({ base, store, other }, options);
    if (merged.kind === 'refused') throw new Error(merged.reason);
    expect(merged.lost).toEqual({ store: 0, other: 0 });
    // Times that the harness keeps are no lines of anyone.
    const lost = (side: Buffer) =>
      missing(base?.toString() ?? '', side.toString(), merged.bytes.toString()).filter(
        (line) => !/^ {2}modified: /.test(line),
      );
    expect([...lost(store), ...lost(other)]).toEqual([]);
    // The result is newer than either side.
    const again = (side: Buffer) => {
      const sides = { base, store: merged.bytes, other: side };
      const second = merge(sides, { ...options, newer: 'store' });
      return second.kind === 'merged' && second.bytes.equals(merged.bytes);
    };
    expect([again(store), again(other)]).toEqual([true, true]);
    const swapped = merge({ base, store: other, other: store }, options);
    const lines = (bytes: Buffer) =>
      bytes
        .toString()
        .split('\n')
        .filter((line) => !/^ {2}modified: /.test(line))
        .sort();
    expect(swapped.kind === 'merged' && lines(swapped.bytes)).toEqual(lines(merged.bytes));
    // Where a merge is clean, it is what a person made of it.
    if (merged.clean && result !== null) expect(merged.bytes.equals(result)).toBe(true);
  });

  test('edited at random lose no line that was added', () => {
    const lines = (bytes: Buffer) => bytes.toString().trimEnd().split('\n');
    const every = merging.flatMap(({ store }) => lines(store));
    const bases = fc.constantFrom(...merging.map(({ store }) => lines(store)));
    let merges = 0;
    fc.assert(
      fc.property(
        triplesOf(bases, { line: fc.constantFrom(...every), moves: true, lines: 250, edits: 12 }),
        (triple) => {
          const { base, store, other } = triple;
          const result = mergeTexts(base, store, other);
          if (result.kind === 'refused') {
            // Edits at random may break a frontmatter on both sides.
            expect([result.reason, base.startsWith('---\n') || other.startsWith('---')]).toEqual(['frontmatter', true]);
            return;
          }
          merges++;
          expect(result.lost).toEqual({ store: 0, other: 0 });
          if (base.startsWith('---\n')) return;
          const text = result.bytes.toString();
          expect([...missing(base, store, text), ...missing(base, other, text)]).toEqual([]);
        },
      ),
      { numRuns: Number(process.env['MEND_TEST_RUNS'] ?? 200) },
    );
    expect(merges).toBeGreaterThan(100);
  });

  test('without a base are told from other notes by the lines they share', () => {
    const likeness = (one: Buffer, two: Buffer) => {
      const table = new LineTable();
      const [store, other] = [splitLines(one, table), splitLines(two, table)];
      const ends = { store: findFrontmatter(store, table).end, other: findFrontmatter(other, table).end };
      return measureLikeness({ base: null, store, other }, ends, table);
    };
    for (const { store, other } of merging) expect(likeness(store, other).shared).toBeGreaterThan(leastShared * 2);
    const owners = readFileSync(join(corpus ?? '', 'corpus/triples/index.tsv'), 'utf8').split('\n');
    const owner = (id: string) => owners.find((row) => row.startsWith(`${id}\t`))?.split('\t')[2];
    let pairs = 0;
    for (const one of merging) {
      for (const two of merging) {
        if (owner(one.id) === owner(two.id)) continue;
        const { lines, shared } = likeness(one.store, two.store);
        if (lines < longEnough) continue;
        pairs++;
        expect(shared, `${one.id} and ${two.id}`).toBeLessThan(leastShared / 2);
      }
    }
    expect(pairs).toBeGreaterThan(300);
  });

  test('and the table of docs/merging.md says what became of them', () => {
    const file = join(import.meta.dirname, '../../docs/merging.md');
    const text = readFileSync(file, 'utf8');
    const [before, rest = ''] = text.split('<!-- table: test/merge/corpus-table.ts -->\n');
    const after = rest.split('<!-- end of table -->')[1];
    const wanted = `${before}<!-- table: test/merge/corpus-table.ts -->\n\n${corpusTable(corpus ?? '')}\n\n<!-- end of table -->${after}`;
    if (process.env['MEND_UPDATE_DOCS'] === '1') writeFileSync(file, wanted);
    else expect(text, 'MEND_UPDATE_DOCS=1 writes the table anew').toBe(wanted);
  });
});

describe.skipIf(corpus === undefined)(corpus === undefined ? withoutCorpus : 'reported cases', () => {
  const text = (id: string) => {
    const result = mergeCase(corpus ?? '', id);
    if (result.kind === 'refused') throw new Error(result.reason);
    expect(result.lost).toEqual({ store: 0, other: 0 });
    return result.bytes.toString();
  };
  const read = (file: string) => readFileSync(join(corpus ?? '', 'cases', file), 'utf8');

  test('01: two sessions append to one index', () => {
    expect(
      text('01')
        .split('\n')
        .map((line) => line.slice(0, 4)),
    ).toEqual(['- [A', '- [B', '- [C', '- [D', '']);
  });

  test('05: one project on two machines keeps both bodies', () => {
    expect(text('05')).toBe('---\nname: a\ndescription: x\ntype: project\n---\n\nmac\n\nlinux\n');
  });

  test('14: a colon in a value is text', () => {
    const note = read('14/a.md');
    expect(mergedText(note, note.replace('seeds', 'saves'), note.replace('feedback', 'user'))).toBe(
      note.replace('seeds', 'saves').replace('feedback', 'user'),
    );
  });

  test.each(['15/crlf.md', '15/mixed.md', '16/a.md'])('%s: keys are found, and other bytes stay', (file) => {
    const note = read(file);
    const merged = mergedText(
      note,
      note.replace('name: a', 'name: A'),
      note.replace('description: x', 'description: X'),
    );
    expect(merged).toBe(note.replace('name: a', 'name: A').replace('description: x', 'description: X'));
  });

  test('18: a change of quotes loses to a change of the value', () => {
    expect(text('18')).toBe('---\nname: \'a\'\ndescription: "y"\n---\n');
  });

  test('20: one header although one side is CRLF', () => {
    expect(text('20')).toBe('| file | hook |\r\n|---|---|\r\n| a.md | ONE |\r\n| b.md | two |\r\n');
  });

  test('22: both texts are there', () => {
    expect(text('22')).toMatch(/\nline ours\nline theirs\n$/);
  });

  test('24: a deleted line stays deleted', () => {
    expect(text('24')).toBe('a\nc\nd\ne2\n');
  });

  test('26: the change of a file that was renamed in case alone', () => {
    expect(text('26')).toMatch(/\n\nn2\n$/);
  });

  test('28: a page of one line does not replace a day', () => {
    expect(text('28').split('\n').length - 1).toBe(10);
  });

  test('30: a first import onto existing lines keeps them', () => {
    expect(text('30').split('\n').length - 1).toBe(3);
  });

  test('the others are about finding, naming and listing files, not about merging', () => {
    const others = readdirSync(join(corpus ?? '', 'cases')).filter((id) => /^\d+$/.test(id) && !(id in reportedCases));
    expect(others.sort()).toEqual(['02', '04', '08', '11', '14', '15', '16']);
  });
});
