import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { judge, numbersIn, readExcluded } from '../../scripts/conformance/judge.mjs';
import { readResult } from '../../scripts/conformance/run-test.mjs';
import { leftoverMounts } from '../support/mounted.js';

const script = join(import.meta.dirname, '../../scripts/conformance.mjs');

/** Builds a suite of the form of pjdfstest's from shell scripts, by the names of its files of tests. */
function suite(tests: Record<string, string>): string {
  const folder = mkdtempSync(join(inject('runFolder'), 'suite-'));
  const files = { pjdfstest: '#!/bin/sh\n', 'tests/misc.sh': '', 'tests/conf': 'exit 1\n' };
  const contents = Object.entries(tests).map(([name, text]) => [`tests/${name}`, text] as const);
  for (const [name, text] of [...Object.entries(files), ...contents]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  chmodSync(join(folder, 'pjdfstest'), 0o755);
  return folder;
}

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const folder = mkdtempSync(join(inject('runFolder'), 'conformance-'));
  const all = [script, '--folder', folder, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, all, { encoding: 'utf8', timeout: 60_000 });
  expect(leftoverMounts(folder)).toEqual([]);
  return { status, stdout, stderr };
}

/** The row of a place in the first table: its numbers by column. */
function row(stdout: string, place: string): Record<string, number> {
  const cells = (line: string) => line.split('|').map((cell) => cell.trim());
  const lines = stdout.split('\n');
  const values = cells(lines.find((line) => line.startsWith(`| ${place} `)) ?? '');
  return Object.fromEntries(
    cells(lines[0] ?? '').flatMap((name, at) => (at > 1 && name !== '' ? [[name, Number(values[at])]] : [])),
  );
}

describe('scripts/conformance.mjs, on the real mount', () => {
  test('tells what passes, what a rule excludes, and what fails on a plain folder too', () => {
    const mkfifo = 'mkfifo pipe 2>/dev/null && echo "ok 2" || echo "not ok 2 - no pipe"';
    const folder = suite({
      'open/00.t': 'echo 1..2; echo text >a.md && echo "ok 1"; grep -q text a.md && echo "ok 2"',
      'mkfifo/00.t': `. "$(dirname "$0")/../conf"; echo 1..3; echo "ok 1 - $fs"; ${mkfifo}; echo "not ok 3 - never"`,
    });
    const { status, stdout, stderr } = run(folder);
    expect(status, stdout + stderr).toBe(0);
    expect(row(stdout, 'plain')).toMatchObject({ tests: 5, passed: 4, unexplained: 1 });
    for (const place of ['memory', 'local'])
      expect(row(stdout, place)).toMatchObject({
        ...{ tests: 5, passed: 3, 'fail on plain too': 1, devices: 1, unexplained: 0 },
      });
  }, 90_000);

  test('fails when a difference has no reason, and names it', () => {
    const folder = suite({ 'open/00.t': 'echo 1..1; ln -s a b 2>/dev/null && echo "ok 1" || echo "not ok 1 - odd"' });
    const { status, stdout } = run(folder);
    expect(status).toBe(1);
    expect(stdout).toContain('Unexplained:\nmemory: open/00.t 1: odd\nlocal: open/00.t 1: odd\n');
  }, 90_000);

  test('says what is wrong with the command line', () => {
    expect(run()).toMatchObject({ status: 2, stderr: expect.stringContaining('Give one folder') });
    expect(run(inject('runFolder'))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('no built pjdfstest'),
    });
  });
});

test('the output of a file of tests is read by its numbers; what was announced and did not run has failed', () => {
  const output = '1..5\nok 1\nnot ok 2 - tried\nnot ok 3 # TODO differs\n# a comment\nok 4 - well\n';
  expect(readResult(output)).toEqual({
    count: 5,
    failed: new Map([
      [2, 'tried'],
      [5, 'did not run'],
    ]),
  });
  expect(readResult('')).toEqual({ count: 0, failed: new Map() });
});

test('a failure is excused by the list alone, and only in a place that follows it', () => {
  const here = new Map([['open/00.t', { count: 4, failed: new Map([2, 3, 4].map((number) => [number, 'no'])) }]]);
  const plain = new Map([['open/00.t', { count: 4, failed: new Map([[4, 'no']]) }]]);
  const excluded = { reasons: { modes: 'why' }, tests: { 'open/00.t': { modes: '1-2' } } };
  const expected = { count: 4, passed: 1, failedOnPlain: 1 };
  expect(judge(here, plain, excluded)).toEqual({
    ...expected,
    ...{ excluded: { modes: 1 }, unexplained: ['open/00.t 3: no'], listedAndPassed: 1 },
  });
  expect(judge(here, plain, null)).toMatchObject({ ...expected, excluded: {}, listedAndPassed: 0 });
});

test('every excluded test has one reason, which the list explains, and the documentation has the same reasons', () => {
  const { reasons, tests } = readExcluded();
  const used = new Set<string>();
  for (const [test, byReason] of Object.entries(tests)) {
    const all = Object.values(byReason).flatMap(numbersIn);
    expect([test, all.every((number) => number > 0)]).toEqual([test, true]);
    expect([test, new Set(all).size]).toEqual([test, all.length]);
    for (const reason of Object.keys(byReason)) used.add(reason);
  }
  expect([...used].sort()).toEqual(Object.keys(reasons).sort());
  const page = readFileSync(join(import.meta.dirname, '../../docs/conformance.md'), 'utf8');
  for (const reason of used) expect(page).toContain(`| ${reason} `);
});
