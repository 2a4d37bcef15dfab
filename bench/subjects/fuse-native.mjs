import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../lib/exec.mjs';
import { BenchError } from '../lib/options.mjs';
import { Absent, findProgram, makeFolder, servedSubject } from './subject.mjs';

const version = '2.2.6';
const server = fileURLToPath(new URL('../peers/fuse-native.mjs', import.meta.url));

/**
 * The npm package fuse-native serving the same files from memory: what a FUSE file system in Node.js usually is.
 * The package is installed into the working folder, at a pinned version, without running its scripts.
 * @param {import('./subject.mjs').Context} context
 * @returns {Promise<import('./subject.mjs').Subject>}
 */
export async function fuseNative(context) {
  const home = makeFolder(context, 'fuse-native');
  const mountPoint = makeFolder(context, 'fuse-native', 'mount');
  const npm = findProgram('npm');
  if (npm === null) throw new Absent('npm is not in PATH, so fuse-native cannot be installed.');
  writeFileSync(path.join(home, 'package.json'), '{"private":true}\n');
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  try {
    await run(npm, ['install', ...flags, `fuse-native@${version}`], {
      cwd: home,
      env: inherited('HOME', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'),
      timeoutMs: 120_000,
      signal: context.signal,
    });
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    throw new Absent(`fuse-native ${version} could not be installed from npm: ${error.message}`);
  }
  const module = path.join(home, 'node_modules', 'fuse-native');
  const env = await loadable(context, module, home);
  // The dynamic linker reads its path when the program starts, so it is set by env(1).
  const args = [...env, process.execPath, server, module, context.seed, mountPoint];
  return servedSubject(context, { name: 'fuse-native', version, mountPoint, command: 'env', args });
}

/**
 * Finds the environment in which the prebuilt addon loads: as it is when libfuse 2 is installed, else with the
 * library that the package brings along.
 * @param {import('./subject.mjs').Context} context
 * @param {string} module
 * @param {string} home
 * @returns {Promise<string[]>}
 */
async function loadable(context, module, home) {
  const load = [process.execPath, '-e', `require(${JSON.stringify(module)})`];
  /** @type {string[][]} */
  const tries = [[]];
  const bundled = path.join(module, 'prebuilds', `linux-${process.arch}`, 'libfuse.so');
  if (existsSync(bundled)) {
    const folder = path.join(home, 'lib');
    mkdirSync(folder, { recursive: true });
    copyFileSync(bundled, path.join(folder, 'libfuse.so.2'));
    tries.push([`LD_LIBRARY_PATH=${folder}`]);
  }
  let reason = '';
  for (const env of tries) {
    try {
      await run('env', [...env, ...load], { as: context.as, signal: context.signal });
      return env;
    } catch (error) {
      if (!(error instanceof BenchError)) throw error;
      reason = error.message;
    }
  }
  throw new Absent(`fuse-native ${version} does not load here (${reason}); it needs libfuse 2 and x64.`);
}

/** @param {...string} names @returns {Record<string, string>} */
function inherited(...names) {
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
