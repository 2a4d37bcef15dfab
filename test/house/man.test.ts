import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { manPages } from '../../src/cli/man/page.js';
import { escapeRoff, paragraphs, usageRoff } from '../../src/cli/man/roff.js';
import { buildProgram } from '../../src/cli/program.js';
import { isInstalled } from '../cli/terminal.js';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'packaging/man');
const files = readdirSync(folder).sort();
const script = join(root, 'scripts/man.mjs');

test('the committed pages are what the commands say: run node scripts/man.mjs after a build', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const changes = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const date = /^## \[?[^\]\n]+\]? - (\d{4}-\d\d-\d\d)$/m.exec(changes)?.[1] ?? '';
  const pages = manPages(await buildProgram(async () => undefined), { version, date });
  expect(pages.map(({ file }) => file).sort()).toEqual(files);
  for (const { file, text } of pages) expect(readFileSync(join(folder, file), 'utf8'), file).toBe(text);
});

test('the script finds the pages as they are, too', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toBe(`${files.length} manual pages, 0 out of date\n`);
});

describe.each(files)('%s', (file) => {
  const text = readFileSync(join(folder, file), 'utf8');

  test('has every section', () => {
    const sections = [...text.matchAll(/^\.SH (.*)$/gm)].map(([, name]) => name).filter((name) => name !== 'COMMANDS');
    const wanted = ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'EXIT STATUS', 'ENVIRONMENT', 'FILES', 'SEE ALSO'];
    expect(sections).toEqual(wanted);
    for (const [, name, section] of text.matchAll(/\\fB(mend[a-z\\-]*)\\fR\((\d)\)/g))
      expect(files).toContain(`${name?.replaceAll('\\-', '-')}.${section}`);
    expect(text).not.toMatch(/[^\n -~]/);
  });

  test.runIf(isInstalled('mandoc'))('pleases mandoc', () => {
    const { stdout } = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning', join(folder, file)], { encoding: 'utf8' });
    // Before the first release there is no date to give.
    expect(
      stdout.split('\n').filter((line) => line !== '' && !/WARNING: missing date, using "": TH$/.test(line)),
    ).toEqual([]);
  });

  test.runIf(isInstalled('man'))('pleases man', () => {
    const { status, stdout, stderr } = spawnSync('man', ['--warnings', '--local-file', join(folder, file)], {
      encoding: 'utf8',
      env: { ...process.env, MANWIDTH: '80', MAN_KEEP_FORMATTING: '', LC_ALL: 'C.UTF-8' },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('SYNOPSIS');
  });
});

test('text is shown as it is', () => {
  expect(escapeRoff(".dot 'quote' ~/a-b \\n")).toBe('\\&.dot \\(aqquote\\(aq \\(ti/a\\-b \\en');
  expect(usageRoff('--project <name>')).toBe('\\fB\\-\\-project \\fR\\fIname\\fR');
  expect(usageRoff('[file]')).toBe('[\\fIfile\\fR]');
  expect(paragraphs('\nOne\nline.\n\n  two   columns\n')).toBe('.PP\nOne\nline.\n.PP\n.nf\n  two   columns\n.fi');
});
