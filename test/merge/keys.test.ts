import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { mergedText } from './support.js';

/** Values by key; a key with a dot stands in a mapping. */
type Keys = Record<string, string>;

const names = ['name', 'description', 'metadata.type', 'metadata.modified', 'metadata.source', 'x', 'y'];
const value = fc.constantFrom('one', 'two', 'three', 'a b', 'http://x/y', 'café');
const keys: fc.Arbitrary<Keys> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...names), value), { selector: ([name]) => name })
  .map(Object.fromEntries);
const quote = fc.constantFrom('', '"', "'");

/** Writes a note with these keys, in their order. */
function write(values: Keys, sign: string): string {
  const lines: string[] = [];
  const nested = Object.entries(values).filter(([name]) => name.includes('.'));
  for (const [name, text] of Object.entries(values)) {
    if (!name.includes('.')) lines.push(`${name}: ${sign}${text}${sign}`);
    else if (nested[0]?.[0] === name) {
      lines.push('metadata:', ...nested.map(([inner, word]) => `  ${inner.slice(9)}: ${sign}${word}${sign}`));
    }
  }
  return `---\n${lines.map((line) => `${line}\n`).join('')}---\nbody\n`;
}

/** Reads the keys of a note. YAML itself finds keys that are there twice. */
function read(note: string): Keys {
  const [, text = ''] = /^---\n([\s\S]*?)---\nbody\n$/.exec(note) ?? [];
  const values: Keys = {};
  for (const [name, found] of Object.entries((parse(text) ?? {}) as Record<string, string | Keys | null>)) {
    if (typeof found === 'string') values[name] = found;
    else for (const [inner, word] of Object.entries(found ?? {})) values[`${name}.${inner}`] = word;
  }
  return values;
}

test('every key has the value that the rules give it, and every other value is a comment', () => {
  fc.assert(
    fc.property(keys, keys, keys, quote, quote, (base, store, other, signS, signO) => {
      const start = write(base, '"');
      const merged = mergedText(start, write(store, signS), write(other, signO));
      const there = merged === 'body\n' ? {} : read(merged);
      for (const name of names) {
        const [b, s, o] = [base[name], store[name], other[name]];
        let wanted = s === b ? o : o === b ? s : (s ?? o);
        const both = s !== undefined && o !== undefined && s !== o && s !== b && o !== b;
        if (name === 'metadata.modified' && both) wanted = o;
        else if (both) expect(merged).toContain(`: ${name.replace('metadata.', '')}: ${signO}${o}${signO}\n`);
        expect(there[name], name).toBe(wanted);
      }
      expect(Object.keys(there).length).toBe(names.filter((name) => there[name] !== undefined).length);
      expect(mergedText(start, merged, write(other, signO))).toBe(merged);
    }),
    { numRuns: Number(process.env['MEND_TEST_RUNS'] ?? 500) },
  );
});

const item: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c', 'd', 'e f');
const items = fc.uniqueArray(item);

test('lists hold what a side added or neither removed, once', () => {
  const list = (words: string[]) => `---\nx: 1\ntags:\n${words.map((word) => `  - ${word}\n`).join('')}---\nbody\n`;
  fc.assert(
    fc.property(items, items, items, (base, store, other) => {
      const merged = mergedText(list(base), list(store), list(other));
      const there = merged.split('\n').flatMap((line) => (line.startsWith('  - ') ? [line.slice(4)] : []));
      const wanted = ['a', 'b', 'c', 'd', 'e f'].filter((word) => {
        const [s, o] = [store.includes(word), other.includes(word)];
        return base.includes(word) ? s && o : s || o;
      });
      expect(there.toSorted()).toEqual(wanted);
      expect(mergedText(list(base), merged, list(other))).toBe(merged);
    }),
    { numRuns: Number(process.env['MEND_TEST_RUNS'] ?? 300) },
  );
});
