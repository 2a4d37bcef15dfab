import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { programFolder, programPath } from '../support/program.js';
import { Person } from './person.js';
import { onTerminal } from './terminal.js';

const FILES = 600;
/** A line of progress, over the one before it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it begins with what a terminal obeys
const LINE = /\r\u001b\[K(\d+) of 600 files/;

let person: Person;

beforeAll(async () => {
  person = await Person.make();
  await person.shell(`mkdir -p "$M"; cd "$M"; for i in $(seq ${FILES}); do echo "note $i" > "n$i.md"; done`);
});

afterAll(async () => {
  await person.remove();
});

/**
 * A script that imports and takes longer than a second for sure: when the first file is told of, the program is stopped
 * for as long.
 */
const slowly = (): string => `
  rm -rf "$STORE"; : > out
  '${process.execPath}' '${programPath()}' memory import > out & import=$!
  until [ -s out ]; do kill -0 $import; sleep 0.02; done
  kill -STOP $import; sleep 1.2; kill -CONT $import
  wait $import`;

test('an import that takes longer than a second shows on a terminal how far it is, and cleans up', async () => {
  const { code, stdout } = await onTerminal(person, slowly(), { STORE: person.store });
  expect(code, stdout).toBe(0);
  expect(stdout).toMatch(LINE);
  const done = Number(LINE.exec(stdout)?.[1]);
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThanOrEqual(FILES);
  expect(stdout.endsWith('\r\u001b[K'), JSON.stringify(stdout.slice(-40))).toBe(true);
  expect(await person.shell('tail -n 1 garden/out')).toMatch(/: 600 added\n$/);
});

test('what there is to show at first is shown when a second has passed, also while one step takes longer', async () => {
  const module = join(programFolder(), 'dist/cli/progress.js');
  const script = `import(process.argv[1]).then(({ Progress }) => {
    const progress = new Progress();
    progress.show("0 of 1 file");
    setTimeout(() => progress.clear(), 1500);
  })`;
  const { code, stdout } = await onTerminal(person, `'${process.execPath}' -e '${script}' '${module}'`);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '\r\u001b[K0 of 1 file\r\u001b[K' });
});

test('and shows nothing of it elsewhere', async () => {
  const env = { STORE: person.store };
  const result = await person.user.run(['sh', '-euc', slowly()], { cwd: person.repository, env });
  expect(result).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect(await person.shell('wc -l < garden/out')).toBe(`${FILES + 1}\n`);
});
