import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, inject, test } from 'vitest';
import { readMachine } from '../../src/project/machine.js';
import { MemoryFiles } from '../../src/store/memory-files.js';
import { Store } from '../../src/store/store.js';
import { programPath } from '../support/program.js';

const ROUNDS = Number(process.env['MEND_IMPORT_KILLS'] ?? 100);
const FILES = 150;
/** How often the import of one state of the folder is broken off before the folder changes. */
const KILLS = 8;

const text = (file: number, state: number): string => `note ${file} of state ${state}\n`;

test('an import that is killed at any moment leaves each file as before or as after, and the rerun finishes', async () => {
  const folder = mkdtempSync(join(inject('runFolder'), 'killed-'));
  const [repository, copy, storeFolder] = ['garden', 'copy', 'store'].map((name) => join(folder, name));
  if (repository === undefined || copy === undefined || storeFolder === undefined) throw new Error('no folders');
  for (const made of [repository, copy]) mkdirSync(made);
  const env = { ...process.env, HOME: folder, MEND_STORE_DIR: storeFolder };
  const run = () => {
    const args = [programPath(), 'memory', 'import', '--from', copy, '--machine', 'laptop', '--allow-secrets'];
    return spawn(process.execPath, args, { cwd: repository, env, stdio: 'ignore' });
  };
  const lay = (state: number): void => {
    for (let file = 0; file < FILES; file++) writeFileSync(join(copy, `${file}.md`), text(file, state));
  };
  const finish = async (): Promise<void> => expect(await once(run(), 'exit')).toEqual([0, null]);

  lay(0);
  const start = Date.now();
  await finish();
  const whole = Date.now() - start;
  let partly = 0;
  let state = 0;
  for (let round = 0; round < ROUNDS; round++) {
    if (round % KILLS === 0) {
      if (round > 0) {
        await finish();
        check(storeFolder, state, state);
      }
      lay(++state);
    }
    const child = run();
    const ended = once(child, 'exit');
    // Starting the program takes longer than the import: most kills are to meet the import.
    await delay(whole * (0.3 + 0.7 * Math.random()));
    child.kill('SIGKILL');
    await ended;
    const done = check(storeFolder, state - 1, state);
    if (done > 0 && done < FILES) partly++;
  }
  await finish();
  expect(check(storeFolder, state, state)).toBe(FILES);
  expect(partly).toBeGreaterThan(0);
}, 400_000);

/** Checks that every file is as in one of two states, with what goes with it; returns how many are in the second. */
function check(folder: string, before: number, after: number): number {
  const store = new Store(folder, { create: false, owner: 'test', machine: () => readMachine(folder) });
  try {
    expect(store.db.pragma('integrity_check', { simple: true })).toBe('ok');
    const tree = store.trees.get(Number(store.db.prepare('SELECT id FROM tree').pluck().get()));
    if (!tree) throw new Error('there is no tree');
    const memory = new MemoryFiles(store, tree);
    const heads = memory.list();
    expect(heads).toHaveLength(FILES);
    const machine = Number(store.db.prepare('SELECT id FROM machine WHERE name = ?').pluck().get('laptop'));
    let done = 0;
    for (const head of heads) {
      const file = Number.parseInt(head.path, 10);
      const now = store.content(head.content).toString();
      expect([text(file, before), text(file, after)]).toContain(now);
      if (now === text(file, after)) done++;
      const history = store.versions.of(tree.id, head.path);
      expect(history[0]).toMatchObject({ kind: 'imported', content: head.content });
      expect(new Set(history.map(({ content }) => content)).size).toBe(history.length);
      const base = store.bases.get(machine, '', tree.id, head.path);
      expect(base).toEqual({ path: head.path, sent: head.content, stored: head.content });
    }
    return done;
  } finally {
    store.close();
  }
}
