import { readFileSync } from 'node:fs';
import os from 'node:os';
import { run } from './exec.mjs';

/**
 * Describes where the numbers come from, as `[what, value]` lines.
 * @param {string} folder folder on the disk that is measured
 * @param {string} user
 * @returns {Promise<[string, string][]>}
 */
export async function describeMachine(folder, user) {
  const cpus = os.cpus();
  const release = readFileSync('/etc/os-release', 'utf8').match(/^PRETTY_NAME="?([^"\n]*)/m)?.[1] ?? 'unknown';
  const disk = (await run('df', ['--output=fstype,source', folder])).trim().split('\n').at(-1) ?? '';
  return [
    ['date', new Date().toISOString().slice(0, 16).replace('T', ' ')],
    ['CPU', `${cpus[0]?.model.trim()}, ${cpus.length} cores, ${os.availableParallelism()} of them used`],
    ['memory', `${Math.round(os.totalmem() / 2 ** 30)} GB`],
    ['system', `${release}, Linux ${os.release()}`],
    ['Node.js', process.versions.node],
    ['disk', disk.trim().replace(/\s+/, ' on ')],
    ['user', user],
    ['load before', os.loadavg()[0]?.toFixed(2) ?? ''],
  ];
}
