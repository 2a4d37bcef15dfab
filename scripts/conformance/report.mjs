// @ts-check

/**
 * A table in Markdown, columns after the first to the right.
 * @param {string[]} head
 * @param {(string | number)[][]} rows
 */
function table(head, rows) {
  const texts = [head, ...rows.map((row) => row.map((cell) => cell.toLocaleString('en')))];
  const widths = head.map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)));
  const line = (/** @type {string[]} */ row) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(texts[0] ?? []), rule, ...texts.slice(1).map(line)].join('\n');
}

/**
 * The results of a run as text.
 * @param {Map<string, import('./judge.mjs').Verdict>} verdicts by place
 * @param {Map<string, Map<string, import('./run-test.mjs').Result>>} results by place and file
 * @param {import('./judge.mjs').Excluded} excluded
 */
export function makeReport(verdicts, results, excluded) {
  const reasons = Object.keys(excluded.reasons);
  const places = [...verdicts].map(([name, verdict]) => [
    name,
    verdict.count,
    verdict.passed,
    verdict.failedOnPlain,
    ...reasons.map((reason) => verdict.excluded[reason] ?? 0),
    verdict.unexplained.length,
  ]);
  const groups = [...new Set([...(results.values().next().value?.keys() ?? [])].map(groupOf))].map((group) => [
    group,
    ...[...results.values()].map((files) => passedIn(files, group)),
  ]);
  const lines = [...verdicts].flatMap(([name, { unexplained }]) => unexplained.map((line) => `${name}: ${line}`));
  const meanings = Object.entries(excluded.reasons).map(([reason, meaning]) => `- ${reason}: ${meaning}`);
  return [
    table(['place', 'tests', 'passed', 'fail on plain too', ...reasons, 'unexplained'], places),
    meanings.join('\n'),
    table(['passed, by group', ...results.keys()], groups),
    ...(lines.length > 0 ? [`Unexplained:\n${lines.join('\n')}`] : []),
  ].join('\n\n');
}

/** @param {string} test */
const groupOf = (test) => test.split('/')[0] ?? '';

/**
 * @param {Map<string, import('./run-test.mjs').Result>} files
 * @param {string} group
 */
function passedIn(files, group) {
  let passed = 0;
  for (const [test, { count, failed }] of files) if (groupOf(test) === group) passed += count - failed.size;
  return passed;
}
