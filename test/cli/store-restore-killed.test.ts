import { chownSync, copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { programFolder } from '../support/program.js';
import { isRoot } from '../support/users.js';
import { Person } from './person.js';

let person: Person;
let file: string;
let backup: string;

beforeEach(async () => {
  person = await Person.make();
  file = join(person.store, 'store.db');
  backup = join(person.user.home, 'backup');
  await person.shell('mkdir -p "$M"; echo old > "$M/a.md"');
  await person.done('mount');
  await person.done('store', 'backup', backup);
  await person.shell('echo new > "$M/a.md"');
  await person.rest();
});

afterEach(async () => {
  await person.remove();
});

/** Runs a restore that is killed at its nth call on the store's files; false when it has no such call. */
async function dies(at: number): Promise<boolean> {
  const preload = join(person.user.home, 'dying.mjs');
  copyFileSync(join(import.meta.dirname, 'dying.mjs'), preload);
  const { code, signal } = await person.mend(['store', 'restore', backup], {
    env: { NODE_OPTIONS: `--import=${preload}`, DIE_AT: String(at) },
  });
  if (code === 0) return false;
  expect({ code, signal }).toEqual({ code: null, signal: 'SIGKILL' });
  return true;
}

const names = (): string[] => readdirSync(person.store).filter((name) => name.startsWith('store.db'));

/** Leaves a log that was not moved into the file, as a process does that dies. */
async function leaveLog(): Promise<void> {
  const script = `
    const db = new (require(process.argv[1]))(process.argv[2]);
    db.pragma('wal_autocheckpoint = 0');
    db.exec("UPDATE project SET name = 'orchard'");
    process.kill(process.pid, 'SIGKILL');`;
  const module = join(programFolder(), 'node_modules/better-sqlite3');
  await person.user.run([
    'sh',
    '-c',
    'umask 077; "$0" -e "$1" "$2" "$3" || test $? = 137',
    process.execPath,
    script,
    module,
    file,
  ]);
  expect(names()).toContain('store.db-wal');
}

/** Everything of the store and its log, to begin the next round with. */
function keep(): () => void {
  const kept = names().map((name) => [name, readFileSync(join(person.store, name))] as const);
  return () => {
    for (const name of names()) if (!kept.some(([other]) => other === name)) rmSync(join(person.store, name));
    for (const [name, bytes] of kept) {
      writeFileSync(join(person.store, name), bytes, { mode: 0o600 });
      if (isRoot) chownSync(join(person.store, name), person.user.uid, person.user.gid);
    }
  };
}

describe('a restore that is killed, at any of its steps,', () => {
  test('leaves the old store or the new one, each with its own log', async () => {
    await leaveLog();
    const again = keep();
    const seen = new Set<string>();
    for (let at = 0; await dies(at); at++) {
      const text = await person.done('memory', '--project', await project(), 'show', 'a.md');
      const state = `${await project()} ${text}`;
      expect(['orchard new\n', 'garden old\n']).toContain(state);
      seen.add(state);
      await person.done('store', 'check');
      again();
    }
    expect([...seen].sort()).toEqual(['garden old\n', 'orchard new\n']);
  }, 240_000);

  test('leaves a store that nobody can open as it is, with its log', async () => {
    await leaveLog();
    writeFileSync(file, readFileSync(file).fill(7, 0, 4096));
    const log = readFileSync(`${file}-wal`);
    // The log has the first page, too.
    const again = keep();
    let rounds = 0;
    for (let at = 0; await dies(at); at++) {
      rounds++;
      const { code } = await person.mend(['memory']);
      const done = await person.done('store', 'restore', backup);
      expect(done).toContain('is kept as');
      expect(await person.done('memory', 'show', 'a.md')).toBe('old\n');
      const kept = names().filter((name) => name.includes('.replaced'));
      if (code !== 0) expect(kept.some((name) => readFileSync(join(person.store, name)).equals(log))).toBe(true);
      again();
    }
    expect(rounds).toBeGreaterThan(3);
  }, 240_000);
});

test('what a killed restore left goes when a daemon starts', async () => {
  const left = (): string[] => names().filter((name) => /\.(restoring|replaced)/.test(name));
  for (let at = 0; left().length < 2; at++) expect(await dies(at)).toBe(true);
  await person.done('mount');
  expect(left()).toEqual([]);
  expect(await person.done('memory', 'show', 'a.md')).toBe('new\n');
  await person.rest();
}, 120_000);

test('where a file has no second name, what is replaced is copied; a restore that is killed there is undone or finished', async () => {
  await person.done('mount');
  // A file system without hard links.
  const fresh = 'umask 077; cd "$M"; rm -rf store; mkdir store; cp "$S/../../../../backup" store/store.db';
  await person.shell(fresh);
  await person.shell('if ln "$M/store/store.db" "$M/store/other"; then exit 1; fi');
  const preload = join(person.user.home, 'dying.mjs');
  copyFileSync(join(import.meta.dirname, 'dying.mjs'), preload);
  const dying = (at: number) => ({ NODE_OPTIONS: `--import=${preload}`, DIE_AT: String(at) });
  const restore = (more: Record<string, string> = {}) =>
    person.mend(['store', 'restore', backup], { env: { MEND_STORE_DIR: join(person.memory, 'store'), ...more } });
  const inside = async (): Promise<string[]> => (await person.shell('ls "$M/store"')).trim().split('\n');
  const sum = (name: string): Promise<string> => person.shell(`sha256sum <"$M/store/${name}"`);
  const before = await sum('store.db');
  // Copies that there are in the end, by whether the new store was in its place already.
  const copies = new Map<boolean, number>();
  for (let at = 4, code: number | null = null; code !== 0 && copies.size < 2; at++) {
    await person.shell(fresh);
    ({ code } = await restore(dying(at)));
    const left = await inside();
    if (!left.some((name) => /\.replaced\.\d+$/.test(name))) continue;
    const isReplaced = !left.some((name) => name.includes('.restoring.'));
    expect(await restore()).toMatchObject({ code: 0, stderr: '' });
    const [, ...kept] = await inside();
    expect(kept.every((name) => name.endsWith('.replaced'))).toBe(true);
    expect(await Promise.all(kept.map(sum))).toContain(before);
    copies.set(isReplaced, kept.length);
  }
  expect([...copies]).toEqual([
    [false, 1],
    [true, 2],
  ]);
  await person.rest();
}, 120_000);

/** Name of the only project. */
async function project(): Promise<string> {
  return (await person.json<{ name: string }[]>('project', 'list')).map(({ name }) => name).join();
}
