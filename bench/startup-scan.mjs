/**
 * The start-up scan as a harness written in JavaScript does it: readdir, then stat and the first 4 KB of every file.
 * Usage: node startup-scan.mjs <folder> <files> <passes>; prints what bench/client.c prints.
 */
import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';

const [folder = '.', files = '200', passes = '1'] = process.argv.slice(2);

/** @param {string} file @returns {Promise<number>} bytes read */
async function head(file) {
  await stat(file);
  const handle = await open(file);
  try {
    return (await handle.read(Buffer.alloc(4096), 0, 4096, 0)).bytesRead;
  } finally {
    await handle.close();
  }
}

const samples = [];
for (let pass = 0; pass < Number(passes); pass += 1) {
  const start = process.hrtime.bigint();
  const names = (await readdir(folder)).filter((name) => name.startsWith('note-'));
  const lengths = await Promise.all(names.map((name) => head(path.join(folder, name))));
  samples.push(Number(process.hrtime.bigint() - start));
  if (lengths.length !== Number(files) || lengths.some((length) => length !== 2048)) {
    process.stderr.write(`startup-scan: ${folder} does not hold ${files} files of 2,048 bytes\n`);
    process.exit(1);
  }
}
const elapsed = samples.reduce((sum, ns) => sum + ns, 0);
process.stdout.write(`${JSON.stringify({ all: { elapsed_ns: elapsed, ops: samples.length, samples } })}\n`);
