// Inputs of 1 MB a side that are hard for a merge, each for another reason. Made from a seed, so that they are the
// same everywhere.

/** @typedef {{ base: Buffer, store: Buffer, other: Buffer }} Triple */

const megabyte = 1 << 20;

/** @param {number} seed @returns {() => number} numbers from 0 to before 1 (mulberry32) */
export function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** @param {string[]} lines @param {number} size bytes at most @returns {Buffer} */
function text(lines, size) {
  const whole = Buffer.from(lines.map((line) => `${line}\n`).join(''));
  return whole.subarray(0, size);
}

/** @param {number} count @param {(index: number) => string} line */
const lines = (count, line) => Array.from({ length: count }, (_, index) => line(index));

/** @param {string[]} list @param {() => number} next */
function shuffled(list, next) {
  const result = [...list];
  for (let index = result.length - 1; index > 0; index--) {
    const at = Math.floor(next() * (index + 1));
    [result[index], result[at]] = [result[at] ?? '', result[index] ?? ''];
  }
  return result;
}

/** @param {string[]} list @param {number} edits @param {string} word @param {() => number} next */
function edited(list, edits, word, next) {
  const result = [...list];
  for (let edit = 0; edit < edits; edit++) result[Math.floor(next() * result.length)] = `${word} ${edit}`;
  return result;
}

/**
 * Builds all inputs.
 * @param {number} [size] bytes a side
 * @returns {Map<string, Triple>}
 */
export function hardInputs(size = megabyte) {
  const next = random(1);
  /** @type {Map<string, Triple>} */
  const inputs = new Map();
  /** @param {string} name @param {string[]} base @param {string[]} store @param {string[]} other */
  const put = (name, base, store, other) => {
    inputs.set(name, { base: text(base, size), store: text(store, size), other: text(other, size) });
  };
  const prose = lines(
    size / 52,
    (index) => `line ${index} of a note, with ${(index * 7919) % 1009} words more or less`,
  );
  const airy = prose.flatMap((line) => [line, '']);
  /** @param {number} count @param {string} letters */
  const noise = (count, letters) => lines(count, () => letters[Math.floor(next() * letters.length)] ?? '');
  const rewritten = (/** @type {string} */ word) =>
    prose.map((_, index) => `${word} ${index} says something else altogether here`);

  put('50 edits', prose, edited(prose, 50, 'store', next), edited(prose, 50, 'other', next));
  put('5000 edits', prose, edited(prose, 5000, 'store', next), edited(prose, 5000, 'other', next));
  put('half blank lines', airy, edited(airy, 2000, 'store', next), edited(airy, 2000, 'other', next));
  put('wholly rewritten', prose, rewritten('store'), rewritten('other'));
  put(
    'wholly rewritten, half blank',
    airy,
    rewritten('store').flatMap((line) => [line, '']),
    rewritten('other').flatMap((line) => ['', line]),
  );
  put(
    'all lines equal',
    lines(size / 8, () => 'the one'),
    lines(size / 9, () => 'the one'),
    lines(size / 10, () => 'the one'),
  );
  put(
    'two lines in turn',
    lines(size / 2, (index) => (index % 2 ? 'a' : 'b')),
    lines(size / 2, (index) => (index % 2 ? 'b' : 'a')),
    lines(size / 2, (index) => (index % 3 ? 'a' : 'b')),
  );
  put('in reverse order', prose, prose.toReversed(), edited(prose, 50, 'other', next));
  put('both in reverse order', prose, prose.toReversed(), ['top', ...prose.toReversed()]);
  put('shuffled', prose, shuffled(prose, next), shuffled(prose, next));
  put(
    'every line moved',
    prose,
    [...prose.slice(7), ...prose.slice(0, 7)],
    [...prose.slice(9000), ...prose.slice(0, 9000)],
  );
  put(
    'one byte a line',
    lines(size, () => ''),
    [...lines(size / 2, () => ''), 'x', ...lines(size / 2, () => '')],
    ['y', ...lines(size, () => '')],
  );
  put('one line', ['b'.repeat(size)], ['s'.repeat(size)], ['o'.repeat(size)]);
  put('one line, kept', ['b'.repeat(size - 4)], ['b'.repeat(size - 4), 's'], ['b'.repeat(size - 4), 'o']);
  put('two letters at random', noise(size / 2, 'ab'), noise(size / 2, 'ab'), noise(size / 2, 'ab'));
  put(
    '26 letters at random',
    noise(size / 2, 'abcdefghijklmnopqrstuvwxyz'),
    noise(size / 2, 'abcdefghijklmnopqrstuvwxyz'),
    noise(size / 2, 'abcdefghijklmnopqrstuvwxyz'),
  );
  put('runs of letters', runs(next, size), runs(next, size), runs(next, size));
  put(
    'numbers at random',
    lines(size / 6, () => `${Math.floor(next() * 99999)}`),
    lines(size / 6, () => `${Math.floor(next() * 99999)}`),
    lines(size / 6, () => `${Math.floor(next() * 99999)}`),
  );
  put('nested pairs', nested(size, 1), nested(size, 2), nested(size, 3));
  put(
    'no base',
    [],
    prose,
    rewritten('other').map((line, index) => (index % 3 ? line : (prose[index] ?? ''))),
  );
  return inputs;
}

/** Long runs of one letter, cut at other places on each side. @param {() => number} next @param {number} size */
function runs(next, size) {
  /** @type {string[]} */
  const result = [];
  while (result.length < size / 2)
    result.push(...lines(Math.floor(next() * 20000), () => 'abc'[result.length % 3] ?? ''));
  return result;
}

/** Lines that are unique only within what the round before left. @param {number} size @param {number} turn */
function nested(size, turn) {
  const count = Math.floor(size / 16);
  return lines(count, (index) => (index % 2 ? `n${index}` : `n${(index * turn) % count}`));
}
