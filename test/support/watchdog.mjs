// @ts-check
// Thread of `withDeadline`. It has an event loop of its own, so it also frees a test whose own thread is stuck in a
// system call on the mount.
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { freeMounts } from './mount-table.mjs';

/** @type {{ state: Int32Array, milliseconds: number, mounts: string[] }} */
const { state, milliseconds, mounts } = workerData;

/** Time that the test's own thread gets to come back from the freed mounts, in milliseconds. */
const patience = 15_000;

parentPort?.postMessage('ready');
// state[0]: 0 running, 1 ended in time, 2 the time is over. state[1]: 1 when the test's thread is known to run.
if (Atomics.wait(state, 0, 0, milliseconds) === 'timed-out' && Atomics.compareExchange(state, 0, 0, 2) === 0) {
  for (const mount of mounts) freeMounts(mount);
  parentPort?.postMessage('freed');
  if (Atomics.wait(state, 1, 0, patience) === 'timed-out') {
    writeSync(2, `A test is stuck in a call on ${mounts.join(', ')}; its process is ended.\n`);
    process.kill(process.pid, 'SIGKILL');
  }
}
