// @ts-check
// Many threads that look a file up without a pause while another appends to it: node lookers.mjs <folder to write in>
// <folder to look in> <rounds> <threads> <rename|none: whether names change too>. What is closed is made known by a
// counter in shared memory; a length below it is stale. Prints what was seen as JSON.
import fs from 'node:fs';
import { isMainThread, Worker, workerData } from 'node:worker_threads';

const CLOSED = 0;
const STOP = 1;
const LOOKS = 2;
const FIRST = 3;
const SECOND = 4;

if (isMainThread) {
  const [here = '', there = '', rounds = '', threads = '', names = ''] = process.argv.slice(2);
  const shared = new Int32Array(new SharedArrayBuffer(5 * 4));
  const note = `${here}/note.md`;
  fs.writeFileSync(note, '');
  const workers = Array.from(
    { length: Number(threads) },
    () => new Worker(new URL(import.meta.url), { workerData: { shared, path: `${there}/note.md` } }),
  );
  const ended = Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve))));
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('online', resolve))));
  for (let round = 1; round <= Number(rounds); round++) {
    if (names === 'rename') {
      fs.closeSync(fs.openSync(`${here}/other.md`, 'w'));
      fs.unlinkSync(`${here}/other.md`);
    }
    fs.appendFileSync(note, 'ten bytes\n');
    Atomics.store(shared, CLOSED, 10 * round);
  }
  Atomics.store(shared, STOP, 1);
  const statuses = await ended;
  const [size, , looks, first, second] = shared;
  process.stdout.write(JSON.stringify({ size, looks, first, second, statuses }));
} else {
  /** @type {{ shared: Int32Array, path: string }} */
  const { shared, path } = workerData;
  while (Atomics.load(shared, STOP) === 0) {
    const closed = Atomics.load(shared, CLOSED);
    Atomics.add(shared, LOOKS, 1);
    if (fs.statSync(path).size >= closed) continue;
    Atomics.add(shared, FIRST, 1);
    if (fs.statSync(path).size < closed) Atomics.add(shared, SECOND, 1);
  }
}
