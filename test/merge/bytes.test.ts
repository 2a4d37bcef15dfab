import { describe, expect, test } from 'vitest';
import { isText } from '../../src/merge/is-text.js';
import { merge } from '../../src/merge/merge.js';
import { mergedText, mergeTexts, options } from './support.js';

describe('line ends', () => {
  test('CRLF stays, and the other side takes it on', () => {
    expect(mergedText('a\r\nb\r\n', 'a\r\nb\r\nc\r\n', 'x\na\nb\n')).toBe('x\r\na\r\nb\r\nc\r\n');
  });

  test('a side that only changed line ends does not stand against the other', () => {
    expect(mergedText('a\nb\n', 'a\r\nb\r\n', 'a\nB\n')).toBe('a\r\nB\r\n');
    expect(mergedText('a\nb\n', 'a\nB\n', 'a\r\nb\r\n')).toBe('a\nB\n');
  });

  test('in a mixed file untouched lines keep their bytes', () => {
    expect(mergedText('a\r\nb\nc\r\nd\n', 'a\r\nb\nc\r\nd\ne\r\n', 'a\r\nb\nX\nc\r\nd\n')).toBe(
      'a\r\nb\nX\r\nc\r\nd\ne\r\n',
    );
  });

  test('a store without any line end leaves the other side its own', () => {
    expect(mergedText('', 'a', 'b\r\nc\r\n')).toBe('a\r\nb\r\nc\r\n');
    expect(mergedText('x\r\n', '', 'x\r\ny\r\n')).toBe('y\r\n');
  });

  test('a CR that is part of a line stays one', () => {
    expect(mergedText('a\nz\n', 'a\nz\nb\r', 'c\na\nz\n')).toBe('c\na\nz\nb\r');
    expect(mergedText('a\n', 'a\ns\n', 'a\no\r\r\n')).toBe('a\ns\no\r\r\n');
    expect(mergedText('a\rb\n', 'a\rb\ns\n', 'o\na\rb\n')).toBe('o\na\rb\ns\n');
  });
});

describe('the end of the last line', () => {
  test('stays missing where nobody wrote it', () => {
    expect(mergedText('a\nb', 'a\nb\nc', 'x\na\nb')).toBe('x\na\nb\nc');
  });

  test('both sides append to a file without it', () => {
    expect(mergedText('a', 'a\nb', 'a\nc')).toBe('a\nb\nc');
    expect(mergedText('a', 'a\nb\n', 'a\nc')).toBe('a\nb\nc\n');
    expect(mergedText('a', 'a\nb', 'a\nc\n')).toBe('a\nb\nc\n');
    expect(mergedText('a\n', 'a\nb', 'a\nc')).toBe('a\nb\nc');
  });

  test('one side takes it away, the other changes a line', () => {
    expect(mergedText('a\nb\n', 'a\nb', 'A\nb\n')).toBe('A\nb');
    expect(mergedText('a\nb\n', 'A\nb\n', 'a\nb')).toBe('A\nb');
  });

  test('an empty last line is not taken for it', () => {
    expect(mergedText('a', 'a\n\n', 'b\na')).toBe('b\na\n\n');
    expect(mergedText('a\nb', 'a\n\nb', 'a')).toBe('a\n\n');
  });
});

describe('a byte order mark', () => {
  const mark = '\ufeff';

  test('stays', () => {
    expect(mergedText(`${mark}a\n`, `${mark}a\nb\n`, `${mark}c\na\n`)).toBe(`${mark}c\na\nb\n`);
  });

  test('comes and goes with the side that says so', () => {
    expect(mergedText('a\n', `${mark}a\n`, 'a\nb\n')).toBe(`${mark}a\nb\n`);
    expect(mergedText(`${mark}a\n`, 'a\n', `${mark}a\nb\n`)).toBe('a\nb\n');
    expect(mergedText('a\n', 'a\nb\n', `${mark}a\n`)).toBe(`${mark}a\nb\n`);
  });

  test('is all that one side left', () => {
    expect(mergedText('a\n', mark, 'a\nb\n')).toBe(`${mark}b\n`);
    expect(mergedText(null, mark, 'a\n')).toBe(`${mark}a\n`);
  });

  test('in the middle of a text is text', () => {
    expect(mergedText('a\n', `a\n${mark}b\n`, 'c\na\n')).toBe(`c\na\n${mark}b\n`);
  });
});

test('trailing blanks and the form of letters are kept and compared', () => {
  const [composed, combined] = ['caf\u00e9', 'cafe\u0301'];
  expect(mergedText('a  \n', `a  \n${composed}\n`, `a  \n${combined}\n`)).toBe(`a  \n${composed}\n${combined}\n`);
  expect(mergedText('a\nb\n', 'a  \nb\n', 'a\nB\n')).toBe('a  \nB\n');
});

test('a side that changed nothing gives way byte for byte, whatever the bytes are', () => {
  const binary = Buffer.from([0, 255, 1]);
  const mixed = Buffer.from('\ufeffa\r\nb\nc');
  for (const [base, store, other] of [
    [binary, binary, mixed],
    [binary, mixed, binary],
    [binary, mixed, mixed],
    [null, mixed, mixed],
  ] as const) {
    const result = merge({ base, store, other }, options);
    expect(result).toMatchObject({ kind: 'merged', clean: true, lost: { store: 0, other: 0 } });
    expect(result.kind === 'merged' && result.bytes.equals(mixed)).toBe(true);
  }
});

test('content that is not text is refused when both changed it', () => {
  expect(isText(Buffer.from('a\u00e9\ufeff\r\n'))).toBe(true);
  expect(isText(Buffer.alloc(0))).toBe(true);
  for (const bytes of [Buffer.from('a\0b'), Buffer.from([0x61, 0xc3]), Buffer.from([0xed, 0xa0, 0x80])]) {
    expect(isText(bytes)).toBe(false);
    const sides = { base: Buffer.from('a'), store: bytes, other: Buffer.from('b') };
    expect(merge(sides, options)).toEqual({ kind: 'refused', reason: 'not text' });
    expect(merge({ ...sides, store: sides.other, other: bytes }, options)).toMatchObject({ reason: 'not text' });
  }
});

test('nothing at all is a text', () => {
  expect(mergeTexts('', '', '')).toMatchObject({ kind: 'merged', bytes: Buffer.alloc(0) });
  expect(mergedText(null, '', 'a\n')).toBe('a\n');
  expect(mergedText(null, 'a\n', '')).toBe('a\n');
  expect(mergedText('a\n', '', 'b\n')).toBe('b\n');
});
