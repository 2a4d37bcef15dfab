import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Stage, staged, until } from './stage.js';

/** How long, in ms, is counted. */
const SPAN = 10_000;
/** Times that the threads of a server that rests may be woken in that span: a turn of each thread, and what comes of it. */
const FEW = 60;

/** How often the threads of a process gave up the processor by themselves: proc_pid_status(5). */
const switches = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((thread) => readFileSync(join('/proc', `${pid}`, 'task', thread, 'status'), 'latin1'))
    .reduce((sum, status) => sum + Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1]), 0);

async function counted(pid: number): Promise<number> {
  const before = switches(pid);
  await delay(SPAN);
  return switches(pid) - before;
}

async function pids(stage: Stage): Promise<{ server: number; supervisor: number }> {
  const { pid, supervisor_pid: supervisor } = await stage.status();
  if (pid === null || supervisor === null) throw new Error('no daemon runs');
  return { server: pid, supervisor };
}

/** Servers of a supervisor: the one that serves, and the one that waits for it to die. */
const servers = (supervisor: number): number[] =>
  readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'latin1').trim().split(' ').map(Number);

/** A module of the built program. */
const dist = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).pathname;

test.concurrent(
  'where nothing happens, next to nothing is done, and only one server is there; a call or a change wakes it',
  staged(240, async (stage) => {
    const folder = await stage.mount();
    await stage.sh('echo one >"$1/note.md"', folder);
    const { server, supervisor } = await pids(stage);
    expect(await counted(server)).toBeGreaterThan(FEW);
    // What much that was removed leaves behind.
    const filling = `import Database from '${import.meta.resolve('better-sqlite3')}';
      const db = new Database(process.argv[1]);
      db.exec('CREATE TABLE filling (bytes BLOB)');
      for (let i = 0; i < 80; i++) db.prepare('INSERT INTO filling VALUES (randomblob(1048576))').run();
      db.exec('DROP TABLE filling');
      db.pragma('wal_checkpoint(PASSIVE)');`;
    const file = join(stage.store, 'store.db');
    expect(await stage.user.run([process.execPath, '--input-type=module', '-e', filling, file])).toMatchObject({
      code: 0,
    });
    expect(statSync(file).size).toBeGreaterThan(80 * 1024 ** 2);
    await until(() => servers(supervisor).length === 2, 'a spare server', 60_000);
    await until(() => servers(supervisor).length === 1, 'the spare server to end', 150_000);
    expect(servers(supervisor)).toEqual([server]);
    expect(await counted(server)).toBeLessThan(FEW);
    expect(statSync(file).size).toBeLessThan(8 * 1024 ** 2);
    // A program that reads and writes meets no difference, and the supervisor has another one loaded.
    expect(await stage.sh('cat "$1/note.md"; echo two >>"$1/note.md"; cat "$1/note.md"', folder)).toBe(
      'one\none\ntwo\n',
    );
    await until(() => servers(supervisor).length === 2, 'a spare server', 60_000);
  }),
  300_000,
);

test.concurrent(
  'a server that rests notices what another process does to the store, and takes its place when it dies',
  staged(120, async (stage) => {
    const folder = await stage.mount();
    await stage.sh('echo one >"$1/note.md"; cat "$1/note.md"', folder);
    const { server } = await pids(stage);
    let woken = Number.POSITIVE_INFINITY;
    for (let turn = 0; turn < 6 && woken >= FEW; turn++) woken = await counted(server);
    expect(woken).toBeLessThan(FEW);
    // By a program that knows nothing of daemons and tells none.
    const outside = `import { Store } from '${dist('store/store.js')}';
      import { MemoryFiles } from '${dist('store/memory-files.js')}';
      import { readMachine } from '${dist('project/machine.js')}';
      const folder = process.argv[1];
      const store = new Store(folder, { create: false, owner: 'outside', machine: () => readMachine(folder) });
      const [project] = store.projects.list(store.machine);
      const [tree] = store.trees.ofProject(project.id);
      const files = new MemoryFiles(store, tree);
      store.write(() => files.remove(files.find('note.md'), store.sessionRow({ key: 'outside', name: 'outside' })));
      store.close();`;
    const script = [process.execPath, '--input-type=module', '-e', outside, stage.store] as const;
    expect(await stage.user.run(script)).toMatchObject({ code: 0, stderr: '' });
    await until(async () => (await stage.sh('ls "$1"', folder)) === '', 'the file to be gone');
    process.kill(server, 'SIGKILL');
    expect(await stage.sh('echo three >"$1/other.md"; cat "$1/other.md"', folder)).toBe('three\n');
  }),
  180_000,
);
