// @ts-check
// Ends threads that have channels open with notifications under way, and says when the process outlived them.
// Usage: node thread-with-channel.mjs <addon> terminate|exit
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const [addon = '', how] = isMainThread ? process.argv.slice(2) : workerData;

if (isMainThread) {
  for (let round = 0; round < 20; round++) {
    const worker = new Worker(new URL(import.meta.url), { workerData: [addon, how] });
    const gone = once(worker, 'exit');
    await once(worker, 'message');
    if (how === 'terminate') await worker.terminate();
    await gone;
  }
  process.stdout.write('still here\n');
} else {
  const native = createRequire(import.meta.url)(addon);
  for (let i = 0; i < 4; i++) {
    const [ours] = native.socketPair();
    const channel = native.watch(ours, () => {});
    for (let n = 0; n < 100; n++) native.notify(channel, Buffer.alloc(64), () => {});
  }
  parentPort?.postMessage('open');
  if (how === 'exit') setImmediate(() => process.exit(0));
}
