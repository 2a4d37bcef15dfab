import { accessSync, chownSync, constants, mkdirSync } from 'node:fs';
import path from 'node:path';
import { end, run, serve } from '../lib/exec.mjs';
import { takeOff, waitForMount } from '../lib/mounts.mjs';
import { BenchError } from '../lib/options.mjs';

/**
 * @typedef {object} Context
 * @property {string} work canonical path of the run's working folder, on the disk that is measured
 * @property {string} seed folder of the files that every subject serves
 * @property {import('../lib/exec.mjs').Person | null} as who serves and works
 * @property {AbortSignal} signal
 * @property {string | null} profile folder for CPU profiles of mend
 * @property {boolean} mayInstall whether missing peers may be installed by the system's package manager
 *
 * @typedef {object} Subject
 * @property {string} name
 * @property {string} version
 * @property {() => Promise<string>} start makes a fresh mount and returns the folder to work in
 * @property {() => Promise<void>} stop takes the mount off and ends the server; harmless when there is none
 */

/** Why a subject cannot be measured on this machine, as one sentence. */
export class Absent extends Error {}

/**
 * Makes a folder that belongs to whoever serves and works.
 * @param {Context} context
 * @param {...string} segments path under the working folder
 */
export function makeFolder(context, ...segments) {
  let folder = context.work;
  for (const segment of segments) {
    folder = path.join(folder, segment);
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined && context.as) {
      chownSync(folder, context.as.uid, context.as.gid);
    }
  }
  return folder;
}

/**
 * Copies the seed files into a folder.
 * @param {Context} context
 * @param {string} folder
 */
export async function copySeed(context, folder) {
  await run('cp', ['-r', `${context.seed}/.`, folder], { as: context.as, signal: context.signal });
}

/** @param {string} command @returns {string | null} its path, or null when there is none */
export function findProgram(command) {
  for (const folder of [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin']) {
    const file = path.join(folder, command);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder: look in the next one.
    }
  }
  return null;
}

/**
 * Finds a program, or installs its Debian package when that is allowed.
 * @param {Context} context
 * @param {string} command
 * @param {string} packageName
 * @returns {Promise<string>}
 */
export async function needProgram(context, command, packageName) {
  const found = findProgram(command);
  if (found !== null) return found;
  if (!context.mayInstall || findProgram('apt-get') === null) {
    throw new Absent(`${command} is not installed; install it with: apt-get install ${packageName}`);
  }
  process.stderr.write(`bench: installing ${packageName} with apt-get\n`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  try {
    await run('apt-get', ['install', '-y', packageName], { env, timeoutMs: 300_000, signal: context.signal });
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    throw new Absent(`${packageName} could not be installed (${error.message}); try apt-get update first.`);
  }
  return findProgram(command) ?? Promise.reject(new Absent(`${packageName} does not hold ${command}.`));
}

/**
 * A subject that one foreground program serves.
 * @param {Context} context
 * @param {object} what
 * @param {string} what.name
 * @param {string} what.version
 * @param {string} what.mountPoint
 * @param {string} what.command
 * @param {string[]} what.args
 * @returns {Subject}
 */
export function servedSubject(context, { name, version, mountPoint, command, args }) {
  /** @type {ReturnType<typeof serve> | null} */
  let server = null;
  return {
    name,
    version,
    async start() {
      server = serve(command, args, { as: context.as, env: { HOME: context.work } });
      await waitForMount(mountPoint, server);
      return mountPoint;
    },
    async stop() {
      await takeOff(mountPoint);
      if (server?.child.pid !== undefined && server.child.exitCode === null && server.child.signalCode === null) {
        await end(server.child.pid, name === 'fuse-native' ? 0 : 2000);
      }
      server = null;
    },
  };
}
