import { describe, expect, test } from 'vitest';
import { findSecrets } from '../../src/import/secret-rules.js';
import { textOf } from '../../src/import/secret-text.js';
import { EXAMPLES, SAMPLES } from './secret-samples.js';

const FRONTMATTER = '---\nname: deploy\ndescription: how it is done\n---\n\n';

describe('found, with its line', () => {
  test.each(SAMPLES)('$kind', async ({ rule, text }) => {
    const note = `${FRONTMATTER}Some words first.\n${text}\nSome words after it.\n`;
    expect(await findSecrets(note)).toContainEqual({ rule, line: 7 });
    expect(new Set((await findSecrets(note)).map((finding) => finding.line))).toEqual(new Set([7]));
    expect(await findSecrets(text)).toContainEqual({ rule, line: 1 });
  });
});

test.each(EXAMPLES)('not taken for a secret: %s', async (text) => {
  expect(await findSecrets(text)).toEqual([]);
});

test('a rule is named once a line, and lines are in order', async () => {
  const github = SAMPLES.find(({ rule }) => rule === 'github')?.text ?? '';
  const npm = SAMPLES.find(({ rule }) => rule === 'npm')?.text ?? '';
  expect(await findSecrets(`${npm}\n\n${github} ${github}\r\n${npm} ${github}`)).toEqual([
    { rule: 'npm', line: 1 },
    { rule: 'github', line: 3 },
    { rule: 'npm', line: 4 },
    { rule: 'github', line: 4 },
  ]);
});

test('no more than a hundred findings', async () => {
  const github = SAMPLES.find(({ rule }) => rule === 'github')?.text ?? '';
  const findings = await findSecrets(`${github}\n`.repeat(150));
  expect(findings).toHaveLength(100);
  expect(findings.at(-1)).toEqual({ rule: 'github', line: 100 });
});

test('a comment in the text does not switch the search off', async () => {
  const github = SAMPLES.find(({ rule }) => rule === 'github')?.text ?? '';
  const note = `<!-- secretlint-disable -->\n${github} <!-- secretlint-disable-line -->\n`;
  expect(await findSecrets(note)).toEqual([{ rule: 'github', line: 2 }]);
});

describe('encodings', () => {
  const token = SAMPLES.find(({ rule }) => rule === 'github')?.text ?? '';
  const note = `${FRONTMATTER.trimEnd()}\nGrüße, 你好\n${token}`;
  const found = [{ rule: 'github', line: 6 }];
  const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes).swap16();
  const plain = `Words.\r\n\r\n${token}`;

  test.each<[string, Buffer, readonly object[]]>([
    ['UTF-8', Buffer.from(note), found],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${note}`), found],
    ['CRLF', Buffer.from(note.replaceAll('\n', '\r\n')), found],
    ['UTF-16LE with a mark', Buffer.from(`\ufeff${note}`, 'utf16le'), found],
    ['UTF-16BE with a mark', swapped(Buffer.from(`\ufeff${note}`, 'utf16le')), found],
    ['UTF-16 that is cut off', Buffer.concat([Buffer.from(`\ufeff${note}\n`, 'utf16le'), Buffer.from('a')]), found],
    ['UTF-16LE without a mark', Buffer.from(plain, 'utf16le'), [{ rule: 'github', line: 3 }]],
    ['UTF-16BE without a mark', swapped(Buffer.from(plain, 'utf16le')), [{ rule: 'github', line: 3 }]],
    ['Latin-1', Buffer.from(`Gr\u00fc\u00dfe \u00e9${token}\u00e9`, 'latin1'), [{ rule: 'github', line: 1 }]],
    [
      'bytes that are no text',
      Buffer.concat([Buffer.from([0, 255, 10, 0, 128]), Buffer.from(token), Buffer.from([0, 254])]),
      [{ rule: 'github', line: 2 }],
    ],
    ['nothing', Buffer.alloc(0), []],
  ])('%s', async (_, bytes, expected) => {
    expect(await findSecrets(textOf(bytes))).toEqual(expected);
  });
});
