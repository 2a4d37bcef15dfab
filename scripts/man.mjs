// @ts-check
// Writes the manual pages in packaging/man from the commands of the program that was built last. With --check it writes
// nothing, and fails when the pages are not what it would write. Usage: node scripts/man.mjs [--check]
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'packaging/man');

/** The newest release of the changelog, by its date; the date is empty before the first one. */
function release() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const changes = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  return { version, date: /^## \[?[^\]\n]+\]? - (\d{4}-\d\d-\d\d)$/m.exec(changes)?.[1] ?? '' };
}

const { buildProgram } = await import('../dist/cli/program.js');
const { manPages } = await import('../dist/cli/man/page.js');
/** @type {{ file: string, text: string }[]} */
const pages = manPages(await buildProgram(async () => undefined), release());

const wanted = new Set(pages.map(({ file }) => file));
const superfluous = (existsSync(folder) ? readdirSync(folder) : []).filter((name) => !wanted.has(name));
const other = pages.filter(({ file, text }) => {
  const path = join(folder, file);
  return !existsSync(path) || readFileSync(path, 'utf8') !== text;
});

if (process.argv[2] === '--check') {
  for (const name of [...other.map(({ file }) => file), ...superfluous])
    process.stderr.write(
      `packaging/man/${name}: is not what the commands say; run node scripts/man.mjs after a build\n`,
    );
  process.stdout.write(`${pages.length} manual pages, ${other.length + superfluous.length} out of date\n`);
  process.exitCode = other.length + superfluous.length > 0 ? 1 : 0;
} else {
  mkdirSync(folder, { recursive: true });
  for (const name of superfluous) rmSync(join(folder, name));
  for (const { file, text } of other) writeFileSync(join(folder, file), text);
  process.stdout.write(`${pages.length} manual pages, ${other.length} written, ${superfluous.length} removed\n`);
}
