import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { programFolder } from '../support/program.js';
import { freshFolder, openStore } from './fresh-store.js';

const store = pathToFileURL(join(programFolder(), 'dist/store/store.js')).href;

/** Runs a script with the built store as `Store` and the store's folder as `folder`; gives back what it printed. */
async function run(
  folder: string,
  script: string,
): Promise<{ code: number | null; signal: string | null; output: string }> {
  const file = join(freshFolder(), 'script.mjs');
  writeFileSync(
    file,
    `import { Store } from ${JSON.stringify(store)};
     const folder = ${JSON.stringify(folder)};
     const open = () => new Store(folder, { create: true, owner: 'p' + process.pid, machine: () => ({ machineId: 'm', name: 'host' }) });
     ${script}`,
  );
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal, output };
}

test('several processes that make a store at once all get the same one', async () => {
  for (let round = 0; round < 3; round++) {
    const folder = join(freshFolder(), 'new/store');
    const script = `
      const store = open();
      const ids = [];
      for (let i = 0; i < 50; i++) store.write(() => { ids.push(store.newId()); store.recordChange(1, store.newId()); });
      console.log(JSON.stringify([store.machine, ...ids]));
      store.close();`;
    const results = await Promise.all(Array.from({ length: 6 }, () => run(folder, script)));
    expect(results.map(({ code, output }) => (code === 0 ? 0 : output))).toEqual(results.map(() => 0));
    const lists = results.map(({ output }) => JSON.parse(output) as number[]);
    expect(new Set(lists.map(([machine]) => machine)).size).toBe(1);
    const ids = lists.flatMap((list) => list.slice(1));
    expect(new Set(ids).size).toBe(6 * 50);
    expect(openStore(folder).feed.last()).toBe(6 * 50);
  }
});

test('what was committed survives the death of the process that wrote it, and what was not is not there', async () => {
  const folder = freshFolder();
  const { signal } = await run(
    folder,
    `const store = open();
     for (let i = 1; i <= 100; i++) store.write(() => store.recordChange(1, i));
     store.write(() => { store.recordChange(1, 101); process.kill(process.pid, 'SIGKILL'); });`,
  );
  expect(signal).toBe('SIGKILL');
  const survivor = openStore(folder);
  expect(survivor.db.prepare('SELECT count(*), max(node) FROM change').raw().get()).toEqual([100, 100]);
  expect(survivor.db.pragma('integrity_check', { simple: true })).toBe('ok');
});
