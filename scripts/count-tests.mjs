// @ts-check
// Prints `passed failed skipped` of one vitest run, from its JSON report and its exit status. A run that ended badly
// without naming a failed test (no report, an error outside of tests, a file that does not load) counts as one failure.
import { existsSync, readFileSync } from 'node:fs';

/** @typedef {{ status: string, assertionResults: { status: string }[] }} FileResult */

const [reportFile = '', exitStatus = '1'] = process.argv.slice(2);
let passed = 0;
let failed = 0;
let skipped = 0;

if (existsSync(reportFile)) {
  /** @type {{ testResults: FileResult[] }} */
  const report = JSON.parse(readFileSync(reportFile, 'utf8'));
  for (const file of report.testResults) {
    const states = file.assertionResults.map((result) => result.status);
    passed += states.filter((state) => state === 'passed').length;
    failed += states.filter((state) => state === 'failed').length;
    skipped += states.filter((state) => state !== 'passed' && state !== 'failed').length;
    if (file.status === 'failed' && !states.includes('failed')) failed += 1;
  }
}
if (exitStatus !== '0' && failed === 0) failed = 1;
if (passed === 0 && failed === 0) failed = 1;
process.stdout.write(`${passed} ${failed} ${skipped}\n`);
