import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/count-tests.mjs');

interface FileResult {
  status: string;
  assertionResults: { status: string }[];
}

function count(testResults: FileResult[] | undefined, exitStatus: number): string {
  const report = join(mkdtempSync(join(inject('runFolder'), 'count-')), 'report.json');
  if (testResults !== undefined) writeFileSync(report, JSON.stringify({ testResults }));
  return spawnSync(process.execPath, [script, report, String(exitStatus)], { encoding: 'utf8' }).stdout.trim();
}

const file = (status: string, ...states: string[]): FileResult => ({
  status,
  assertionResults: states.map((state) => ({ status: state })),
});

test('tests are counted over all files', () => {
  expect(count([file('passed', 'passed', 'passed', 'skipped'), file('passed', 'passed', 'todo')], 0)).toBe('3 0 2');
  expect(count([file('failed', 'passed', 'failed')], 1)).toBe('1 1 0');
});

test('a run that went wrong outside of a test is a failure', () => {
  expect(count([file('failed'), file('passed', 'passed')], 1)).toBe('1 1 0');
  expect(count([file('failed', 'passed', 'passed')], 1)).toBe('2 1 0');
  expect(count([file('passed', 'passed')], 1)).toBe('1 1 0');
  expect(count(undefined, 1)).toBe('0 1 0');
});

test('a run without any test is a failure', () => {
  expect(count([], 0)).toBe('0 1 0');
  expect(count(undefined, 0)).toBe('0 1 0');
});
