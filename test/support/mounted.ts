import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { canAbort, freeMounts, leftoverMounts } from './mount-table.mjs';

export { canAbort, freeMounts, leftoverMounts };

const ended = 1;
const expired = 2;

/** Time that a test gets to fail by itself after its mounts were taken away, in milliseconds. */
const grace = 5_000;

/**
 * Runs `fn` and gives back its result. When it takes longer than `seconds`, the FUSE connections of everything
 * mounted at or under `mounts` are aborted and the mounts taken off, so that nothing waits for ever, and the call fails.
 * Works even while `fn` blocks its thread in a call on the mount; where the kernel's control files cannot be reached
 * (`canAbort`), the whole test process is ended as the last resort.
 */
export async function withDeadline<T>(
  seconds: number,
  mounts: string[],
  fn: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  const state = new Int32Array(new SharedArrayBuffer(8));
  const workerData = { state, milliseconds: seconds * 1000, mounts };
  const watchdog = new Worker(new URL('./watchdog.mjs', import.meta.url), { workerData });
  const gone = new Promise<void>((resolve, reject) => {
    watchdog.once('error', reject);
    watchdog.once('exit', () => resolve());
  });
  await Promise.race([once(watchdog, 'message'), gone]);
  watchdog.on('message', () => {
    Atomics.store(state, 1, 1);
    Atomics.notify(state, 1);
  });
  const controller = new AbortController();
  const work = Promise.resolve().then(() => fn(controller.signal));
  try {
    const first = await Promise.race([work.then((value) => ({ value })), gone]);
    if (first !== undefined && Atomics.compareExchange(state, 0, 0, ended) === 0) return first.value;
  } catch (error) {
    if (Atomics.compareExchange(state, 0, 0, ended) !== expired) throw error;
  } finally {
    Atomics.notify(state, 0);
    controller.abort();
    await gone;
  }
  // What the work itself says now only repeats that its mounts went away.
  const settled = work.then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([settled, new Promise((resolve) => setTimeout(resolve, grace).unref())]);
  throw new Error(`The work was not done after ${seconds} s; its mounts were aborted and taken off.`);
}
