import fs from 'node:fs';
import path from 'node:path';
import { allCases } from './cases/all.js';
import type { PosixCase, PosixResult } from './posix-case.js';

/*
 * The program that runs the cases as the user they are for: `node child.mjs <folder> plain|mount`.
 * Each case gets an empty folder of its own, one level below the folder given. One JSON line a case.
 */

async function runOne(posixCase: PosixCase, dir: string, onMount: boolean): Promise<PosixResult> {
  const { name } = posixCase;
  fs.mkdirSync(dir, 0o700);
  try {
    await (onMount && posixCase.except ? posixCase.except.instead(dir) : posixCase.run(dir));
    return { name, ok: true };
  } catch (error) {
    return { name, ok: false, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  } finally {
    process.chdir('/');
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

const [folder, place] = process.argv.slice(2);
if (folder === undefined || (place !== 'plain' && place !== 'mount')) {
  throw new Error('usage: node child.mjs <folder> plain|mount');
}
process.umask(0o022);
for (const [index, posixCase] of allCases.entries()) {
  const dir = path.join(folder, `n${String(index).padStart(3, '0')}`);
  let result: PosixResult;
  try {
    result = await runOne(posixCase, dir, place === 'mount');
  } catch (error) {
    result = { name: posixCase.name, ok: false, error: `could not make or clear its folder: ${String(error)}` };
  }
  fs.writeSync(1, `${JSON.stringify(result)}\n`);
}
