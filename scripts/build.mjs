// @ts-check
// Builds dist/ from src/ and the addon from native/. With --if-needed it does nothing when the last build was made
// from the same sources; with --state it only prints what the last build left.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { addonIsCurrent, buildState, root, sourceHash } from './build-state.mjs';

/** A failure that one sentence explains. */
class BuildError extends Error {}

/**
 * Ends the build with one sentence.
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  throw new BuildError(message);
}

/**
 * Runs a program in the checkout with its output shown.
 * @param {string} program
 * @param {string[]} args
 * @returns {boolean} whether it ended with status 0
 */
function run(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (error) process.stderr.write(`build: ${program}: ${error.message}\n`);
  return status === 0;
}

/**
 * Whether a program is on PATH.
 * @param {string} name
 * @returns {string | undefined} its full name
 */
function which(name) {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** Compiles into a folder of its own and puts that in the place of dist/, which is never half built. */
function buildTypeScript() {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  if (!existsSync(compiler)) fail('the TypeScript compiler is not installed; run npm ci first.');
  const fresh = mkdtempSync(join(root, 'dist.'));
  try {
    const hash = sourceHash();
    if (!run(process.execPath, [compiler, '-p', 'tsconfig.json', '--outDir', fresh])) {
      fail('TypeScript found errors (above); dist/ is as it was.');
    }
    const main = join(fresh, 'main.js');
    if (!existsSync(main)) fail('src/main.ts is missing.');
    if (!readFileSync(main, 'utf8').startsWith('#!')) fail('src/main.ts must start with #!/usr/bin/env node.');
    const schema = join(root, 'src/store/schema');
    if (existsSync(schema)) {
      cpSync(schema, join(fresh, 'store/schema'), { recursive: true, filter: (file) => !file.endsWith('.ts') });
    }
    chmodSync(main, 0o755);
    chmodSync(fresh, 0o777 & ~process.umask());
    writeFileSync(join(fresh, '.stamp'), `${hash}\n`);
    rmSync(join(root, 'dist'), { recursive: true, force: true });
    renameSync(fresh, join(root, 'dist'));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * npm's own node-gyp, wherever this script was started from.
 * @returns {string[] | undefined} the command
 */
function nodeGyp() {
  const fromNpm = process.env['npm_config_node_gyp'];
  if (fromNpm !== undefined && existsSync(fromNpm)) return [process.execPath, fromNpm];
  const onPath = which('node-gyp');
  if (onPath !== undefined) return [onPath];
  const { stdout } = spawnSync('npm', ['root', '--global'], { encoding: 'utf8' });
  const bundled = join((stdout ?? '').trim(), 'npm/node_modules/node-gyp/bin/node-gyp.js');
  return existsSync(bundled) ? [process.execPath, bundled] : undefined;
}

/** Builds the addon; without a compiler it says so and leaves the rest of mend usable. */
function buildAddon() {
  if (addonIsCurrent()) return;
  const missing = ['cc', 'make', 'python3'].filter((name) => which(name) === undefined);
  const gyp = nodeGyp();
  if (gyp === undefined) missing.push('node-gyp');
  if (missing.length > 0 || gyp === undefined) {
    warnNoAddon(`${missing.join(', ')} not found`);
    return;
  }
  const [program = '', ...first] = gyp;
  const prefix = join(dirname(process.execPath), '..');
  const headers = existsSync(join(prefix, 'include/node/node_api.h')) ? [`--nodedir=${prefix}`] : [];
  const common = ['-C', 'native', '--loglevel=error', ...headers];
  if (!run(program, [...first, 'clean', 'configure', ...common])) {
    warnNoAddon('the headers of Node.js could not be set up');
    return;
  }
  if (!run(program, [...first, 'build', ...common])) fail('the addon does not compile (above).');
}

/**
 * Says what works without the addon.
 * @param {string} reason
 */
function warnNoAddon(reason) {
  process.stderr.write(
    `build: warning: the addon was not built (${reason}), so mend cannot mount until you install g++, make and python3 and build again; listing and showing memory work.\n`,
  );
}

/** @param {string | undefined} option */
function main(option) {
  if (option === '--state') {
    process.stdout.write(`${buildState()}\n`);
    return;
  }
  if (option !== undefined && option !== '--if-needed') fail(`${option} is not an option; use --if-needed or --state.`);
  if (option === undefined || buildState() !== 'current') buildTypeScript();
  buildAddon();
}

try {
  main(process.argv[2]);
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  process.stderr.write(`build: ${error.message}\n`);
  process.exitCode = 1;
}
