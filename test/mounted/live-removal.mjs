// @ts-check
// Removes memory as `mend memory rm` does, in one process: node live-removal.mjs <program folder> <store folder> <rounds>
// <memory folder>…. Each round makes a file in one mount, looks at it in all, removes it through the store, has the
// daemons told, and then it must be gone everywhere. Prints what was seen wrong as JSON.
import fs from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [program = '', folder = '', rounds = '', ...mounts] = process.argv.slice(2);
/** @param {string} name */
const part = (name) => import(pathToFileURL(join(program, 'dist', name)).href);
const { Store } = await part('store/store.js');
const { MemoryFiles } = await part('store/memory-files.js');
const { announceToDaemons } = await part('daemon/control-client.js');
const { runtimeFiles } = await part('daemon/runtime-files.js');
const { readMachine } = await part('project/machine.js');

const store = new Store(folder, { create: false, owner: 'command', machine: () => readMachine(folder) });
const tree = store.trees.ofProject(store.projects.list(store.machine)[0].id)[0];
const memory = new MemoryFiles(store, tree);
const daemons = runtimeFiles(folder);

/** @type {string[]} */
const failures = [];

/** @param {string} name @param {string | undefined} wanted */
function look(name, wanted) {
  for (const mount of mounts) {
    const path = join(mount, name);
    const size = fs.statSync(path, { throwIfNoEntry: false })?.size;
    if (size !== wanted?.length) failures.push(`stat ${path}: ${size}`);
    if (fs.readdirSync(mount).includes(name) !== (wanted !== undefined)) failures.push(`list ${path}`);
    let text;
    try {
      text = fs.readFileSync(path, 'utf8');
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
    }
    if (text !== wanted) failures.push(`open ${path}: ${text}`);
  }
}

for (let round = 0; round < Number(rounds); round++) {
  const name = `note-${round % 7}.md`;
  const text = `round ${round}`;
  fs.writeFileSync(join(mounts[round % mounts.length] ?? '', name), text, { flag: 'wx' });
  look(name, text);
  store.write(() => memory.remove(memory.find(name), 0));
  await announceToDaemons(daemons);
  look(name, undefined);
}
store.close();
console.log(JSON.stringify({ failed: failures.length, failures: failures.slice(0, 10) }));
