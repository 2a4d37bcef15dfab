import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {object} ProfileNode
 * @property {number} id
 * @property {{ functionName: string, url: string, lineNumber: number }} callFrame
 *
 * @typedef {object} Profile
 * @property {ProfileNode[]} nodes
 * @property {number[]} samples node ids
 * @property {number[]} timeDeltas µs between samples
 */

/** @param {ProfileNode['callFrame']} frame @param {string} root */
function nameOf({ functionName, url, lineNumber }, root) {
  const file = url.replace(/^file:\/\//, '').replace(root, '');
  return `${functionName || '(anonymous)'}${file === '' ? '' : ` ${file}:${lineNumber + 1}`}`;
}

/**
 * Adds up the self time of each function over all profiles of a folder, for the busiest thread.
 * @param {string} folder
 * @param {string} root folder that file names are told under
 * @returns {{ thread: string, busyMs: number, lines: [string, number][] } | null} functions with their share of the
 *   busy time, the longest first; null when the folder holds no profile
 */
export function readProfiles(folder, root) {
  /** @type {Map<string, Map<string, number>>} thread → function → µs */
  const threads = new Map();
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))) {
    const thread = file.split('-').slice(0, 2).join('-');
    const times = threads.get(thread) ?? new Map();
    threads.set(thread, times);
    /** @type {Profile} */
    const profile = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
    const names = new Map(profile.nodes.map((node) => [node.id, nameOf(node.callFrame, root)]));
    for (const [index, id] of profile.samples.entries()) {
      const name = names.get(id) ?? '';
      times.set(name, (times.get(name) ?? 0) + Math.max(0, profile.timeDeltas[index] ?? 0));
    }
  }
  const busy = [...threads].map(([thread, times]) => {
    const lines = [...times].filter(([name]) => name !== '(idle)' && name !== '(program)');
    return { thread, lines, total: lines.reduce((sum, [, us]) => sum + us, 0) };
  });
  const [most] = busy.sort((a, b) => b.total - a.total);
  if (most === undefined) return null;
  const lines = most.lines
    .sort((a, b) => b[1] - a[1])
    .map(([name, us]) => /** @type {[string, number]} */ ([name, us / most.total]));
  return { thread: most.thread, busyMs: most.total / 1000, lines };
}
