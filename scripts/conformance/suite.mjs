// @ts-check
import { accessSync, constants, cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { run } from '../../bench/lib/exec.mjs';
import { BenchError } from '../../bench/lib/options.mjs';

/**
 * What pjdfstest reads before each test. Left to itself it asks `df` for the type of file system, and leaves out on all
 * but three what POSIX does not demand; here it is the same for every place.
 */
const CONF = 'os=Linux\nGREP=grep\nfs=EXT4\n';

/**
 * Copies a build of pjdfstest to where everybody can read it, so that the build itself stays as it is.
 * @param {string} build folder that holds the program `pjdfstest` and the folder `tests`
 * @param {string} copy folder to make
 */
export async function copySuite(build, copy) {
  const program = path.join(build, 'pjdfstest');
  try {
    accessSync(program, constants.X_OK);
    accessSync(path.join(build, 'tests', 'misc.sh'));
  } catch {
    throw new BenchError(`${build} holds no built pjdfstest: give the folder with its program and its folder "tests".`);
  }
  mkdirSync(copy);
  cpSync(program, path.join(copy, 'pjdfstest'));
  cpSync(path.join(build, 'tests'), path.join(copy, 'tests'), { recursive: true });
  writeFileSync(path.join(copy, 'tests', 'conf'), CONF);
  await run('chmod', ['-R', 'a+rX', copy]);
}

/**
 * The test files of a suite, as `group/number.t`.
 * @param {string} suite
 * @returns {string[]}
 */
export function listTests(suite) {
  const tests = path.join(suite, 'tests');
  const names = readdirSync(tests, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.t')).sort();
}
