// @ts-check
// House rules that no linter knows: length of source files, an npm lock that names no registry, and no path of one
// developer's machine in any file. Usage: node scripts/check-house.mjs [checkout]
import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const maxLines = 300;
// Put together here so that this file does not contain them.
const machinePaths = ['work', 'Users'].map((name) => new RegExp(`(?<![\\w.~:/-])/${name}/`));

/**
 * Every file of the checkout that is or would be committed.
 * @param {string} root
 */
function listFiles(root) {
  const args = ['-c', `safe.directory=${root}`, '-C', root, 'ls-files', '-z', '-co', '--exclude-standard'];
  const names = execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 26 }).split('\0');
  return [...new Set(names)].filter((name) => name !== '' && isRegularFile(join(root, name)));
}

/** @param {string} file */
function isRegularFile(file) {
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

/**
 * Checks one file.
 * @param {string} name
 * @param {string} text
 * @returns {string[]} problems
 */
function problemsOf(name, text) {
  const lines = text.split('\n');
  const problems = [];
  if (/^src\/.*\.ts$/.test(name) && lines.length - 1 > maxLines) {
    problems.push(`${name}: has ${lines.length - 1} lines; split it, ${maxLines} is the most`);
  }
  lines.forEach((line, index) => {
    if (machinePaths.some((pattern) => pattern.test(line))) {
      problems.push(`${name}:${index + 1}: names a path of one machine`);
    }
  });
  if (name === 'package-lock.json' && lines.some((line) => /^\s*"resolved"/.test(line))) {
    problems.push(`${name}: names a registry ("resolved"); install with omit-lockfile-registry-resolved=true`);
  }
  return problems;
}

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const files = listFiles(root);
const problems = files.flatMap((name) => problemsOf(name, readFileSync(join(root, name), 'utf8')));
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (files.length === 0) process.stderr.write(`${root}: holds no files\n`);
process.stdout.write(`${files.length} files, ${problems.length} against the house rules\n`);
process.exitCode = problems.length > 0 || files.length === 0 ? 1 : 0;
