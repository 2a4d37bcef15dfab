import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Person } from './person.js';

let person: Person;

beforeEach(async () => {
  person = await Person.make();
});

afterEach(() => person.remove());

/** Longer than a command waits for a daemon that another one starts. */
const SLOW = 17;

test('a daemon that takes long to start is used all the same', { timeout: 120_000 }, async () => {
  const slow = join(person.user.home, 'slow.cjs');
  const wait = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${SLOW * 1000})`;
  await person.shell(`echo 'if (/supervise\\.js$/.test(process.argv[1] ?? "")) ${wait};' > '${slow}'`);
  const mounted = await person.mend(['mount'], { env: { NODE_OPTIONS: `--require=${slow}` } });
  expect(mounted).toMatchObject({ code: 0, stderr: '', stdout: `mounted ${person.memory}\n` });
  await person.rest();
});
