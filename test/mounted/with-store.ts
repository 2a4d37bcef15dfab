import { join } from 'node:path';
import { expect } from 'vitest';
import type { MemoryFiles } from '../../src/store/memory-files.js';
import type { Store } from '../../src/store/store.js';
import { programFolder } from '../support/program.js';
import type { Stage } from './stage.js';

const script = `
const [program, folder, source, ...args] = process.argv.slice(1);
const load = (file) => import(program + '/dist/' + file);
const { Store } = await load('store/store.js');
const { MemoryFiles } = await load('store/memory-files.js');
const { readMachine } = await load('project/machine.js');
const { announceToDaemons } = await load('daemon/control-client.js');
const { runtimeFiles } = await load('daemon/runtime-files.js');
const store = new Store(folder, { create: false, owner: 'command', machine: () => readMachine(folder) });
const [project] = store.projects.list(store.machine);
const [tree] = store.trees.ofProject(project.id);
const work = new Function('return (' + source + ')')();
const value = work(store, new MemoryFiles(store, tree), ...args);
store.close();
await announceToDaemons(runtimeFiles(folder));
process.stdout.write(JSON.stringify(value ?? null));
`;

/**
 * Runs a function in a process of the user that has the store open as a command has it, beside the daemon, which is
 * told afterwards. It sees nothing but its arguments and what Node.js has built in; its result goes through JSON.
 */
export async function withStore<T>(
  stage: Stage,
  work: (store: Store, files: MemoryFiles, ...args: string[]) => T,
  ...args: string[]
): Promise<T> {
  const command = [process.execPath, '--input-type=module', '-e', script, '--', programFolder()] as const;
  const result = await stage.user.run([...command, stage.store, work.toString(), ...args], { cwd: stage.user.home });
  expect(result, result.stderr).toMatchObject({ code: 0 });
  return JSON.parse(result.stdout) as T;
}

/** Names in the folder where the daemons of a store keep their sockets. */
export const runFolder = (stage: Stage): string => join(stage.store, 'run');
