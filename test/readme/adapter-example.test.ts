import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { harnesses } from '../../src/harness/registry.js';

const top = join(import.meta.dirname, '../..');
const guide = readFileSync(join(top, 'docs/adapters.md'), 'utf8');

/** The one block of code of the guide. */
function example(): string {
  const blocks = [...guide.matchAll(/^```ts adapter\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
  expect(blocks).toHaveLength(1);
  return blocks[0] ?? '';
}

/** The sources with the example in them, and its line in the registry, as the guide says. */
function withExample(code: string): string {
  const folder = mkdtempSync(join(inject('runFolder'), 'adapter-'));
  mkdirSync(join(folder, 'dist'));
  for (const part of ['src', 'package.json', 'tsconfig.json'])
    cpSync(join(top, part), join(folder, part), { recursive: true });
  symlinkSync(join(top, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'src/harness/fern.ts'), code);
  const registry = join(folder, 'src/harness/registry.ts');
  const text = readFileSync(registry, 'utf8');
  const added = text
    .replace('import { memoryless }', "import { fern } from './fern.js';\nimport { memoryless }")
    .replace('= [\n  claude,\n', '= [\n  claude,\n  fern,\n');
  expect(added.split('fern').length).toBe(4);
  writeFileSync(registry, added);
  return folder;
}

const run = (folder: string, program: string, ...args: string[]): string =>
  execFileSync(process.execPath, [join(top, 'node_modules', program), ...args], { cwd: folder, encoding: 'utf8' });

test('the adapter of the guide compiles, and a program with it knows the harness', { timeout: 180_000 }, () => {
  const folder = withExample(example());
  run(folder, 'typescript/bin/tsc', '-p', 'tsconfig.json', '--outDir', 'dist');
  const script = `
    import { memoryHarness, memoryHarnesses } from '${folder}/dist/harness/registry.js';
    const { memoryFolder, isLocal, memoryInCopy, index } = memoryHarness('fern');
    const place = { root: '/srv/my app', env: { HOME: '/home/u' }, home: undefined };
    console.log(JSON.stringify([
      memoryHarnesses.map(({ name }) => name).includes('fern'), memoryFolder(place), isLocal('.fern-lock'), isLocal('index.md'),
      memoryInCopy(place.root, (path) => path === '.fern/notes/my app-11', ['.fern']), index.isNote('roses.md'), index.isNote('index.md'),
    ]));`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(JSON.parse(said)).toEqual([
    ...[true, '/home/u/.fern/notes/my app-11', true, false],
    ...['.fern/notes/my app-11', true, false],
  ]);
});

test('a mistake in it would be seen', { timeout: 180_000 }, () => {
  const folder = withExample(example().replace("title: 'Fern',", 'title: 7,'));
  const args = [join(top, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', 'tsconfig.json'];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  expect(status).not.toBe(0);
  expect(stdout).toMatch(
    /^src\/harness\/fern\.ts\(\d+,\d+\): error TS2322: Type 'number' is not assignable to type 'string'\.$/m,
  );
});

test('the guide names every harness of the registry', () => {
  for (const { name } of harnesses) expect(guide).toContain(`\`${name}\``);
});
