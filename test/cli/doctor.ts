import { expect } from 'vitest';
import type { RunResult } from '../support/users.js';
import type { MendOptions, Person } from './person.js';

export interface Finding {
  check: string;
  status: 'ok' | 'warning' | 'problem';
  message: string;
  hint: string | null;
}

/** The findings of `mend doctor --json`, whose exit status must fit them. */
export async function examined(person: Person, options: MendOptions = {}): Promise<Finding[]> {
  return findingsOf(await person.mend(['doctor', '--json'], options));
}

/** The findings in what a doctor printed. */
export function findingsOf({ code, stdout, stderr }: RunResult): Finding[] {
  expect(stderr).toBe('');
  const findings = JSON.parse(stdout) as Finding[];
  for (const finding of findings) {
    expect(Object.keys(finding)).toEqual(['check', 'status', 'message', 'hint']);
    expect(finding.hint === null, finding.message).toBe(finding.status === 'ok');
  }
  expect(code).toBe(findings.every(({ status }) => status === 'ok') ? 0 : 3);
  return findings;
}

/** One line for each finding that is not ok, as people see it. */
export function faults(findings: readonly Finding[]): string[] {
  return findings
    .filter(({ status }) => status !== 'ok')
    .map(({ check, status, message, hint }) => `${status} ${check}: ${message}: ${hint}`);
}

/** The one fault that there is. */
export function expectFault(findings: readonly Finding[], fault: RegExp): void {
  const found = faults(findings);
  expect(found, found.join('\n')).toHaveLength(1);
  expect(found[0]).toMatch(fault);
}

/** A fault among others that come with it. */
export function expectAmong(findings: readonly Finding[], fault: RegExp): void {
  const found = faults(findings);
  expect(
    found.filter((line) => fault.test(line)),
    found.join('\n'),
  ).toHaveLength(1);
}
