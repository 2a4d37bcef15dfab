import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { end, run } from '../lib/exec.mjs';
import { mountAt, takeOff } from '../lib/mounts.mjs';
import { BenchError } from '../lib/options.mjs';
import { copySeed, makeFolder } from './subject.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const profiler = fileURLToPath(new URL('../lib/profiler.cjs', import.meta.url));
const main = path.join(root, 'dist', 'main.js');

/** Fails with what to do when there is nothing to measure. */
export function requireBuild() {
  if (!existsSync(main)) {
    throw new BenchError('mend is not built: run "npm run build" first, or leave it out with --subjects.');
  }
}

/**
 * mend itself with its real store on the same disk, set up as a person would: a repository, Claude Code's memory
 * folder with the notes already in it, and `mend mount`.
 * @param {import('./subject.mjs').Context} context
 * @returns {Promise<import('./subject.mjs').Subject>}
 */
export async function mend(context) {
  requireBuild();
  const { as, signal } = context;
  const repository = makeFolder(context, 'mend', 'repository');
  const env = {
    ...(context.profile === null ? {} : { NODE_OPTIONS: `--require=${profiler}`, MEND_BENCH_PROFILE: context.profile }),
    HOME: makeFolder(context, 'mend', 'home'),
    MEND_STORE_DIR: makeFolder(context, 'mend', 'store'),
    CLAUDE_CONFIG_DIR: makeFolder(context, 'mend', 'claude'),
  };
  const slug = repository.replace(/[^A-Za-z0-9]/g, '-');
  const memory = makeFolder(context, 'mend', 'claude', 'projects', slug, 'memory');
  await run('git', ['init', '-q', repository], { as, env, signal });
  await copySeed(context, memory);
  /** @param {...string} args */
  const call = (...args) => run(process.execPath, [main, ...args], { as, env, cwd: repository, timeoutMs: 60_000 });
  return {
    name: 'mend',
    version: await describeBuild(),
    async start() {
      signal.throwIfAborted();
      await call('mount');
      if (mountAt(memory) === null) throw new BenchError('"mend mount" succeeded, but nothing is mounted.');
      return memory;
    },
    async stop() {
      const pids = processesWith(`MEND_STORE_DIR=${env.MEND_STORE_DIR}`);
      try {
        if (mountAt(memory) !== null) await call('unmount', '--all');
      } finally {
        await takeOff(memory);
        for (const pid of pids) await end(pid, 3000);
      }
    },
  };
}

/** @returns {Promise<string>} the package's version and the commit, where there is one */
async function describeBuild() {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  try {
    const options = ['-c', `safe.directory=${root.replace(/\/$/, '')}`, '-C', root];
    return `${version} (${(await run('git', [...options, 'describe', '--always', '--dirty'])).trim()})`;
  } catch (error) {
    if (error instanceof BenchError) return version;
    throw error;
  }
}

/**
 * Finds the processes that this run's mend started, by a setting only they have.
 * @param {string} setting `NAME=value` of their environment
 * @returns {number[]}
 */
function processesWith(setting) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(setting);
      } catch {
        // Gone meanwhile, or somebody else's.
        return false;
      }
    })
    .map(Number);
}
