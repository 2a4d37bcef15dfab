import { fileURLToPath } from 'node:url';
import { Late, run } from './exec.mjs';
import { abort, mountAt } from './mounts.mjs';
import { BenchError } from './options.mjs';
import { rows, seriesId } from './rows.mjs';

/**
 * @typedef {import('./stats.mjs').Round} Round
 * @typedef {import('../subjects/subject.mjs').Subject} Subject
 *
 * @typedef {object} Measured
 * @property {Map<string, Map<string, Round[]>>} rounds series id → subject → its rounds
 * @property {Map<string, number>} torn subject → reads by the eight readers that saw an empty or mixed file
 */

const nodeClient = fileURLToPath(new URL('../startup-scan.mjs', import.meta.url));

/**
 * Runs all rows, interleaved: in each round every row goes over every subject before the next row starts, and each
 * call begins with another subject, so that the noise of the machine hits all alike.
 * @param {Subject[]} subjects
 * @param {object} setting
 * @param {string} setting.client path of the compiled client
 * @param {number} setting.rounds
 * @param {import('./rows.mjs').Scale} setting.scale
 * @param {import('./exec.mjs').Person | null} setting.as
 * @param {AbortSignal} setting.signal
 * @param {(line: string) => void} setting.progress
 * @returns {Promise<Measured>}
 */
export async function measure(subjects, setting) {
  /** @type {Measured} */
  const measured = { rounds: new Map(), torn: new Map() };
  for (let round = 1; round <= setting.rounds; round += 1) {
    const turn = round % subjects.length;
    const order = [...subjects.slice(turn), ...subjects.slice(0, turn)];
    /** @type {Map<Subject, string>} */
    const folders = new Map();
    for (const subject of order) {
      await subject.stop();
      folders.set(subject, await named(subject, 'mount', () => subject.start()));
    }
    for (const row of rows) {
      setting.progress(`round ${round} of ${setting.rounds}: ${row.title}`);
      for (let call = 0; call < row.repeat; call += 1) {
        const turn = round * row.repeat + call;
        for (const subject of [...order.slice(call % order.length), ...order.slice(0, call % order.length)]) {
          const folder = folders.get(subject) ?? '';
          const result = await named(subject, row.id, () => runRow(row, folder, turn, setting));
          for (const name of Object.keys(row.series)) keep(measured, seriesId(row, name), subject.name, result[name]);
          if (row.id === 'mixed') measured.torn.set(subject.name, (measured.torn.get(subject.name) ?? 0) + result.torn);
        }
      }
    }
  }
  return measured;
}

/**
 * @param {import('./rows.mjs').Row} row
 * @param {string} folder
 * @param {number} turn
 * @param {{ client: string, scale: import('./rows.mjs').Scale, as: import('./exec.mjs').Person | null,
 *   signal: AbortSignal }} setting
 */
async function runRow(row, folder, turn, { client, scale, as, signal }) {
  const options = { as, signal, timeoutMs: 60_000 };
  const target = row.folder === '' ? folder : `${folder}/${row.folder}`;
  const args = row.call(turn, scale).split(' ');
  try {
    const output =
      row.client === 'node'
        ? await run(process.execPath, [nodeClient, target, ...args], options)
        : await run(client, [args[0] ?? '', target, ...args.slice(1)], options);
    if (row.after !== null) {
      const [name = '', ...more] = row.after(turn, scale).split(' ');
      await run(client, [name, target, ...more], options);
    }
    return JSON.parse(output);
  } catch (error) {
    const mount = mountAt(folder);
    if (error instanceof Late && mount !== null) await abort(mount.connection);
    throw error;
  }
}

/** @param {Measured} measured @param {string} id @param {string} subject @param {Round} round */
function keep(measured, id, subject, round) {
  const bySubject = measured.rounds.get(id) ?? new Map();
  measured.rounds.set(id, bySubject);
  bySubject.set(subject, [...(bySubject.get(subject) ?? []), round]);
}

/**
 * Puts the subject's name and the row before an error.
 * @template T
 * @param {Subject} subject
 * @param {string} doing
 * @param {() => Promise<T>} task
 */
async function named(subject, doing, task) {
  try {
    return await task();
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    throw new BenchError(`${subject.name}, ${doing}: ${error.message}`);
  }
}
