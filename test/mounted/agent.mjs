// @ts-check
// A program of a test user that does, one after the other, what it is told on standard input: each line is a JSON
// object with the source of a function and its arguments. Its first line says its process id; each answer is a line.
import fs from 'node:fs';
import { createInterface } from 'node:readline';

/** What the functions leave for each other, such as open descriptors. */
const own = {};

/** @param {unknown} value */
const say = (value) => fs.writeSync(1, `${JSON.stringify(value)}\n`);

process.chdir('/');
say({ pid: process.pid });
for await (const line of createInterface({ input: process.stdin })) {
  const { source, args } = JSON.parse(line);
  try {
    const work = new Function(`return (${source})`)();
    say({ value: (await work(fs, own, ...args)) ?? null });
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    say({ error: { code, message } });
  }
}
