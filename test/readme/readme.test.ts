import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { leftoverMounts, withDeadline } from '../support/mounted.js';
import { programPath } from '../support/program.js';
import { currentUser, isRoot, type TestUser, throwAwayUser } from '../support/users.js';
import { outputPattern, readTour } from './tour.js';

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
const separator = '-- next step of the tour --';
let user: TestUser;

beforeEach(() => {
  user = isRoot ? throwAwayUser() : currentUser();
});

afterEach(async () => {
  await user.remove();
});

/** Makes a repository with one commit, a `mend` on PATH as `npm link` would, and a program in the place of Claude Code; gives back the PATH. */
async function prepare(): Promise<string> {
  const script = `set -e
    mkdir -p project bin
    printf '#!/bin/sh\\nexec "%s" "%s" "$@"\\n' "$1" "$2" > bin/mend
    printf '#!/bin/sh\\necho "$@"\\n' > bin/claude
    chmod +x bin/mend bin/claude
    git init -q project
    git -C project -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m first`;
  const made = await user.run(['sh', '-c', script, 'sh', process.execPath, programPath()]);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  return `${user.home}/bin:${process.env['PATH']}`;
}

test('the tour does what it says', async () => {
  const steps = readTour(readme);
  expect(steps.length).toBeGreaterThanOrEqual(5);
  const PATH = await prepare();
  const script = steps.map((step) => step.commands).join(`echo '${separator}'\n`);
  const result = await withDeadline(100, [user.home], () =>
    user.run(['bash', '--norc', '-euo', 'pipefail', '-c', script], {
      cwd: join(user.home, 'project'),
      env: { PATH },
      timeout: 105,
    }),
  );
  expect(result, result.stderr).toMatchObject({ code: 0, signal: null });
  const outputs = result.stdout.split(`${separator}\n`);
  expect(outputs).toHaveLength(steps.length);
  steps.forEach((step, index) => {
    if (step.output !== undefined) expect(outputs[index]).toMatch(outputPattern(step.output));
  });
  expect(leftoverMounts(user.home)).toEqual([]);
}, 120_000);

test('the tour begins with the words that the README promises', () => {
  const [first, ...rest] = readTour(readme);
  expect(first?.commands).toContain('mend mount');
  const all = rest.map((step) => step.commands).join('');
  for (const command of ['memory', 'memory show', 'memory log', 'memory rm', 'status', 'unmount']) {
    expect(all).toMatch(new RegExp(`^mend ${command}\\b`, 'm'));
  }
});

test('an output in the README is compared as a whole, with … for anything', () => {
  expect('a.md\nb.md\n').toMatch(outputPattern('a.md\nb.md\n'));
  expect('x\ny\na.md\n').toMatch(outputPattern('…\na.md\n'));
  expect('a.md\nb.md\n').not.toMatch(outputPattern('a.md\n'));
  expect('axmd\n').not.toMatch(outputPattern('a.md\n'));
  expect(() => readTour('```text tour\nx\n```\n')).toThrow('without commands');
});
