import { beforeAll, describe, expect, inject, it, test } from 'vitest';
import type { TestUser } from '../support/users.js';
import { allCases } from './cases/all.js';
import type { Place } from './posix-case.js';
import {
  type Language,
  type Programs,
  preparePrograms,
  python,
  pythonCaseNames,
  type RunReport,
  runCases,
} from './run.js';

let prepared: Promise<Programs> | undefined;

/** Where a suite runs, known once the hooks before it have run. */
export interface Ground {
  dir: string;
  user: TestUser;
}

/** Declares one test for each case in both languages; the cases of a language run once, in one child process. */
export function posixSuite(place: Place, ground: () => Ground): void {
  language(
    'node',
    allCases.map(({ name }) => name),
  );
  const program = python();
  if (program !== undefined) language('python', pythonCaseNames(program));
  else test.skip('the cases in Python: python3 is not installed');

  function language(which: Language, names: string[]): void {
    describe(`cases in ${which}`, () => {
      let report: RunReport;
      beforeAll(async () => {
        prepared ??= preparePrograms(inject('runFolder'));
        report = await runCases(await prepared, { ...ground(), place, language: which });
      }, 200_000);
      it('runs every case once', () => {
        expect([...report.results.keys()].sort(), report.ending).toEqual([...names].sort());
      });
      it.each(names)('%s', (name) => {
        const result = report.results.get(name);
        expect(result?.error ?? (result === undefined ? `has no result: ${report.ending}` : '')).toBe('');
        expect(result?.ok).toBe(true);
      });
    });
  }
}
