import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/check-imports.mjs');

/** Writes a small tree of sources and checks it. */
function check(files: Record<string, string>): { status: number | null; output: string } {
  const sources = mkdtempSync(join(inject('runFolder'), 'sources-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(sources, name)), { recursive: true });
    writeFileSync(join(sources, name), text);
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, sources], { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

const parts = 'fuse tree session merge store project harness import daemon cli ports'.split(' ');
const allFiles = Object.fromEntries(parts.map((part) => [`${part}/a.ts`, 'export const a = 1;\n']));
const all: Record<string, string> = {
  ...allFiles,
  'errors.ts': 'export const a = 1;\n',
  'log.ts': 'export const a = 1;\n',
  'main.ts': 'export const a = 1;\n',
};

/** What each part may import, written out a second time, so that a change of the table is a change of two files. */
const allowed: Record<string, string> = {
  errors: '',
  log: 'errors',
  ports: 'errors',
  merge: '',
  fuse: 'errors log ports',
  session: 'errors log ports merge',
  tree: 'errors log ports merge session',
  store: 'errors log ports',
  project: 'errors log ports store',
  harness: 'errors log ports',
  import: 'errors log ports harness merge store project',
  daemon: 'errors log ports fuse tree session merge store project harness import',
  cli: 'errors log ports fuse tree session merge store project harness import daemon',
  main: 'errors log ports fuse tree session merge store project harness import daemon cli',
};

const fileOf = (part: string): string => (parts.includes(part) ? `${part}/a.ts` : `${part}.ts`);
const importOf = (from: string, to: string): string =>
  `import { a as other } from '${parts.includes(from) ? '../' : './'}${fileOf(to).replace('.ts', '.js')}';\nexport const a = other;\n`;
const pairs = Object.keys(allowed).flatMap((from) =>
  Object.keys(allowed)
    .filter((to) => to !== from)
    .map((to) => ({ from, to, ok: (allowed[from] ?? '').split(' ').includes(to) })),
);

test('a tree that keeps every rule passes, with all that each part may import', () => {
  const files = { ...all };
  for (const part of Object.keys(allowed)) {
    const targets = (allowed[part] ?? '').split(' ').filter((name) => name !== '');
    files[fileOf(part)] = targets
      .map(
        (to) => `export * as ${to}_ from '${parts.includes(part) ? '../' : './'}${fileOf(to).replace('.ts', '.js')}';`,
      )
      .concat('export const a = 1;')
      .join('\n');
  }
  expect(check(files)).toMatchObject({ status: 0 });
});

test('every wrong direction between two parts is refused, alone', () => {
  const wrong = pairs.filter((pair) => !pair.ok);
  const files = { ...all };
  for (const from of Object.keys(allowed)) {
    const mine = wrong.filter((pair) => pair.from === from);
    files[fileOf(from)] = mine.map((pair) => importOf(from, pair.to).split('\n')[0]).join('\n');
  }
  const { status, output } = check(files);
  expect(status).toBe(1);
  for (const { from, to } of wrong) expect(output).toContain(`: ${from} must not import ${to} (`);
  expect(output.match(/ must not import /g)).toHaveLength(wrong.length);
});

test.each([
  ['import type', "import type { A } from '../store/a.js';\nexport type B = A;"],
  ['export from', "export { a } from '../store/a.js';"],
  ['export *', "export * from '../store/a.js';"],
  ['dynamic import', "export const a = () => import('../store/a.js');"],
  ['type in place', "export type B = import('../store/a.js').A;"],
  ['side effect', "import '../store/a.js';"],
])('the wrong import is seen as %s, with its line', (_, text) => {
  const { status, output } = check({ ...all, 'tree/b.ts': `\n\n${text}` });
  expect(status).toBe(1);
  expect(output).toContain('tree/b.ts:3: tree must not import store');
});

test('a name in a comment or a string is no import', () => {
  const text = "// import '../cli/a.js'\nexport const a = \"import x from '../cli/a.js'\";\n";
  expect(check({ ...all, 'merge/b.ts': text })).toMatchObject({ status: 0 });
});

test.each(['node:fs', 'fs', 'node:fs/promises', 'fs/promises'])('%s is refused where a mount is served', (name) => {
  const text = `import * as fs from '${name}';\nexport const a = fs;\n`;
  for (const part of ['fuse', 'tree', 'session', 'merge']) {
    const { status, output } = check({ ...all, [`${part}/b.ts`]: text });
    expect(status).toBe(1);
    expect(output).toContain(`${part}/b.ts:1: ${part}/ must not import ${name}`);
  }
  expect(check({ ...all, 'store/b.ts': text, 'harness/b.ts': text })).toMatchObject({ status: 0 });
});

test('node:fs is also seen when it is required', () => {
  for (const call of ["require('node:fs')", "process.getBuiltinModule('node:fs')"]) {
    expect(check({ ...all, 'fuse/b.ts': `export const a = ${call};` })).toMatchObject({ status: 1 });
  }
});

test('files that import each other in a circle are refused, unless only types do', () => {
  const { status, output } = check({
    ...all,
    'tree/b.ts': "import { c } from './c.js';\nexport const b = c;",
    'tree/c.ts': "export { d as c } from './d.js';",
    'tree/d.ts': "import { type B, b } from './b.js';\nexport const d: B = b;",
  });
  expect(status).toBe(1);
  const types = {
    ...all,
    'tree/b.ts': "import type { C } from './c.js';\nexport type B = C;",
    'tree/c.ts': "export type { B as C } from './b.js';",
  };
  expect(check(types)).toMatchObject({ status: 0 });
  expect(output).toContain('circle: tree/b.ts -> tree/c.ts -> tree/d.ts -> tree/b.ts');
});

test('a part outside of the table, a missing file, bad syntax and an empty folder are refused', () => {
  expect(check({ 'other/a.ts': 'export {};' }).output).toContain('other is not in the table');
  expect(check({ 'tree/a.ts': "import './gone.js';" }).output).toContain('imports ./gone.js, which is no file');
  expect(check({ 'tree/a.ts': 'const = ;' }).output).toContain('tree/a.ts: cannot be parsed');
  expect(check({ 'tree/notes.md': '' })).toMatchObject({ status: 1 });
});
