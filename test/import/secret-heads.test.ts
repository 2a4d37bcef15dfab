import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MendError } from '../../src/errors.js';
import { secretsOfHeads } from '../../src/import/secret-heads.js';
import { MemoryFiles } from '../../src/store/memory-files.js';
import { purge } from '../../src/store/purge.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { addTree, openStore } from '../store/fresh-store.js';
import { loadScanner, programWithoutRules } from './secret-program.js';
import { SAMPLES, slowText } from './secret-samples.js';

type Module = typeof import('../../src/import/secrets.js');
type Scanner = InstanceType<Module['SecretScanner']>;

const TOKEN = SAMPLES.find(({ rule }) => rule === 'github')?.text ?? '';
const FOUND = [{ rule: 'github', line: 2 }];
let SecretScanner: Module['SecretScanner'];
let scanner: Scanner;
let store: Store;
let tree: TreeRow;
let memory: MemoryFiles;

function save(path: string, text: string): void {
  store.write(() => memory.put(path, Buffer.from(text), { kind: 'saved', session: 0 }));
}

const secrets = async () => Object.fromEntries(await secretsOfHeads(store, tree, scanner));
const rows = () => store.db.prepare('SELECT content, scanner, findings FROM secret_scan ORDER BY content').all();
const contentOf = (path: string): number => memory.find(path)?.content ?? 0;

beforeAll(async () => {
  ({ SecretScanner } = await loadScanner());
});

beforeEach(() => {
  scanner = new SecretScanner();
  store = openStore();
  tree = addTree(store);
  memory = new MemoryFiles(store, tree);
  save('clean.md', 'Run the tests with make check.\n');
  save('deploy/keys.md', `The token:\n${TOKEN}\n`);
  save('deploy/copy.md', `The token:\n${TOKEN}\n`);
});

afterEach(() => scanner.close());

test('names the files with secrets, and stores only kind and line, once a content', async () => {
  expect(await secrets()).toEqual({ 'deploy/keys.md': FOUND, 'deploy/copy.md': FOUND });
  expect(rows()).toEqual([
    { content: contentOf('clean.md'), scanner: expect.stringMatching(/^[0-9a-f]{16}$/), findings: '[]' },
    { content: contentOf('deploy/keys.md'), scanner: expect.any(String), findings: '[["github",2]]' },
  ]);
});

test('takes what is stored, and scans what is new or was looked at by other rules', async () => {
  await secrets();
  store.db.prepare(`UPDATE secret_scan SET findings = '[["stored",7]]' WHERE findings <> '[]'`).run();
  save('new.md', `${TOKEN}\n`);
  const stored = [{ rule: 'stored', line: 7 }];
  const fresh = [{ rule: 'github', line: 1 }];
  expect(await secrets()).toEqual({ 'deploy/keys.md': stored, 'deploy/copy.md': stored, 'new.md': fresh });
  store.db.prepare(`UPDATE secret_scan SET scanner = 'older'`).run();
  expect(await secrets()).toEqual({ 'deploy/keys.md': FOUND, 'deploy/copy.md': FOUND, 'new.md': fresh });
  expect(rows()).toHaveLength(3);
});

test('looks at heads only', async () => {
  save('deploy/keys.md', 'Ask the vault.\n');
  store.write(() => {
    const file = memory.find('deploy/copy.md');
    if (file) memory.remove(file, 0);
  });
  expect(await secrets()).toEqual({});
});

test('changes no file, version or time, and tells no daemon', async () => {
  const all = () =>
    ['node', 'version', 'change', 'content', 'served', 'import_base'].map((table) =>
      store.db.prepare(`SELECT * FROM ${table}`).all(),
    );
  const before = all();
  const seen = store.feed.last();
  await secrets();
  expect(rows()).toHaveLength(2);
  expect(all()).toEqual(before);
  expect(store.feed.last()).toBe(seen);
});

test('many files', async () => {
  store.write(() => {
    for (let i = 0; i < 450; i++) {
      const text = `Note ${i}\n${i % 9 === 0 ? TOKEN : ''}\n`;
      memory.put(`many/${i}.md`, Buffer.from(text), { kind: 'saved', session: 0 });
    }
  });
  const found = await secrets();
  expect(Object.keys(found).filter((path) => path.startsWith('many/'))).toHaveLength(50);
  expect(rows()).toHaveLength(452);
  expect(await secrets()).toEqual(found);
});

test('a file that could not be looked at is named, and looked at again the next time', async () => {
  const hasty = new SecretScanner({ limit: 200 });
  save('slow.md', slowText(16 * 1024 * 1024));
  try {
    const found = Object.fromEntries(await secretsOfHeads(store, tree, hasty));
    expect(found['slow.md']).toEqual([{ rule: 'not-scanned', line: 1 }]);
    expect(found['deploy/keys.md']).toEqual(FOUND);
  } finally {
    await hasty.close();
  }
  expect(rows().map((row) => (row as { content: number }).content)).not.toContain(contentOf('slow.md'));
});

describe('lists all the same, and stores nothing,', () => {
  test('when another process holds the store', async () => {
    const other = new Database(join(store.folder, 'store.db'));
    other.exec('BEGIN IMMEDIATE');
    const patience = store.db.pragma('busy_timeout', { simple: true });
    try {
      expect(await secrets()).toEqual({ 'deploy/keys.md': FOUND, 'deploy/copy.md': FOUND });
    } finally {
      other.close();
    }
    expect(rows()).toEqual([]);
    expect(store.db.pragma('busy_timeout', { simple: true })).toBe(patience);
  });

  test('when the store may only be read', async () => {
    store.db.pragma('query_only = ON');
    expect(await secrets()).toEqual({ 'deploy/keys.md': FOUND, 'deploy/copy.md': FOUND });
    expect(rows()).toEqual([]);
  });
});

describe('what was found goes with its content', () => {
  test('when that is swept', async () => {
    await secrets();
    const content = contentOf('clean.md');
    const file = memory.find('clean.md');
    store.write(() => {
      if (file) store.deleteNode(file.row.id);
      store.dropHistory(tree.id, 'clean.md');
      store.contents.sweep(store.contents.unreferenced([]), []);
    });
    expect(store.db.prepare('SELECT 1 FROM content WHERE id = ?').all(content)).toEqual([]);
    expect(rows()).toEqual([expect.objectContaining({ content: contentOf('deploy/keys.md') })]);
  });

  test('when that is purged', async () => {
    await secrets();
    for (const path of ['deploy/keys.md', 'deploy/copy.md']) purge(store, { tree, path }, () => false);
    expect(rows()).toEqual([expect.objectContaining({ content: contentOf('clean.md') })]);
    expect(await secrets()).toEqual({});
  });
});

test('a scanner that does not start is needed only for what is new', async () => {
  await secrets();
  await scanner.close();
  scanner = new (await loadScanner(programWithoutRules())).SecretScanner();
  expect(await secrets()).toEqual({ 'deploy/keys.md': FOUND, 'deploy/copy.md': FOUND });
  save('new.md', `${TOKEN}\n`);
  const failure = await secrets().catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: MendError.name, message: expect.stringContaining('does not start') });
  expect(String(failure)).not.toContain(TOKEN);
});
