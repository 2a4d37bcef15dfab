import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/check-house.mjs');
const foreignPath = ['', 'work', 'main', 'x'].join('/');

function check(files: Record<string, string>): { status: number | null; output: string } {
  const root = mkdtempSync(join(inject('runFolder'), 'house-'));
  execFileSync('git', ['init', '--quiet', root]);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  symlinkSync('/nowhere', join(root, 'dangling'));
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

test('files that keep the rules pass, up to the last allowed line', () => {
  const files = {
    'src/a.ts': '\n'.repeat(300),
    'package-lock.json': '{ "a": "resolved" }\n',
    'b.md': 'network/work/x\n',
  };
  expect(check(files)).toMatchObject({ status: 0, output: '3 files, 0 against the house rules\n' });
});

test('a source file that is too long is refused', () => {
  const { status, output } = check({ 'src/tree/a.ts': '\n'.repeat(301) });
  expect(status).toBe(1);
  expect(output).toContain('src/tree/a.ts: has 301 lines');
});

test('a lock that names a registry is refused', () => {
  const lock = JSON.stringify({ packages: { a: { resolved: 'https://example.org/a.tgz' } } }, null, 2);
  const { status, output } = check({ 'package-lock.json': lock });
  expect(status).toBe(1);
  expect(output).toContain('package-lock.json: names a registry');
});

test('a path of one machine is refused with its line, but not in an ignored file', () => {
  expect(check({ 'docs/a.md': `\nsee ${foreignPath}\n` })).toMatchObject({ status: 1 });
  expect(check({ 'docs/a.md': `\nsee ${foreignPath}\n` }).output).toContain('docs/a.md:2: names a path of one machine');
  expect(check({ '.gitignore': '*.log\n', 'a.log': foreignPath })).toMatchObject({ status: 0 });
});

test('a checkout without files is refused', () => {
  const root = mkdtempSync(join(inject('runFolder'), 'house-'));
  execFileSync('git', ['init', '--quiet', root]);
  expect(spawnSync(process.execPath, [script, root]).status).toBe(1);
});
