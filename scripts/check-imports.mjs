// @ts-check
// Checks that imports under src/ go one way (the table below), that no two files import each other in a circle, and
// that the code which serves a mount never touches the file system: a daemon that reads its own mount deadlocks.
// Usage: node scripts/check-imports.mjs [folder of sources]
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseSync } from 'vite';

/** Importable from everywhere, except where a row below names less. */
const common = ['errors', 'log', 'ports'];

/** Part of the program → the parts that it may import besides itself. A part is a folder or a file of src/. */
const directions = new Map([
  ['errors', []],
  ['log', ['errors']],
  ['ports', ['errors']],
  ['merge', []],
  ['fuse', common],
  ['session', [...common, 'merge']],
  ['tree', [...common, 'session', 'merge']],
  ['store', common],
  ['project', [...common, 'store']],
  ['harness', common],
  ['import', [...common, 'harness', 'merge', 'store', 'project']],
  ['daemon', [...common, 'fuse', 'tree', 'session', 'merge', 'store', 'project', 'harness', 'import']],
  ['cli', [...common, 'fuse', 'tree', 'session', 'merge', 'store', 'project', 'harness', 'import', 'daemon']],
]);
// The program's entry sees what the command line sees, and the command line itself.
directions.set('main', [...(directions.get('cli') ?? []), 'cli']);

const withoutFiles = new Set(['fuse', 'tree', 'session', 'merge']);
const fileModules = new Set(['fs', 'fs/promises', 'node:fs', 'node:fs/promises']);

/** @typedef {{ specifier: string, offset: number, typeOnly: boolean }} Import */

/**
 * Finds every module that a piece of syntax names: static, dynamic, type-only, re-exported, required.
 * @param {any} node
 * @param {Import[]} found
 */
function collect(node, found) {
  if (node === null || typeof node !== 'object') return;
  if (Array.isArray(node)) {
    for (const child of node) collect(child, found);
    return;
  }
  const callee = node.callee?.name ?? node.callee?.property?.name;
  const isCall = node.type === 'CallExpression' && (callee === 'require' || callee === 'getBuiltinModule');
  const named = isCall ? node.arguments[0] : node.type === 'TSExternalModuleReference' ? node.expression : node.source;
  if (named?.type === 'Literal' && typeof named.value === 'string') {
    const typeOnly = node.importKind === 'type' || node.exportKind === 'type';
    found.push({ specifier: named.value, offset: named.start, typeOnly });
  }
  for (const child of Object.values(node)) collect(child, found);
}

/**
 * The part of the program that a file belongs to.
 * @param {string} file relative to the sources
 */
function partOf(file) {
  const [first = ''] = file.split('/');
  return first.replace(/\.ts$/, '');
}

/**
 * Checks one import of one file.
 * @param {string} file
 * @param {string} specifier
 * @param {Set<string>} files
 * @returns {{ target?: string, problem?: string }}
 */
function judge(file, specifier, files) {
  const part = partOf(file);
  if (!specifier.startsWith('.')) {
    const forbidden = withoutFiles.has(part) && fileModules.has(specifier);
    return forbidden ? { problem: `${part}/ must not import ${specifier}: it serves the mount` } : {};
  }
  if (specifier.endsWith('.node') || specifier.endsWith('.json')) return {};
  const target = join(dirname(file), specifier).replace(/\.js$/, '.ts');
  if (!files.has(target)) return { problem: `imports ${specifier}, which is no file of the sources` };
  const other = partOf(target);
  const allowed = directions.get(part) ?? [];
  if (other !== part && !allowed.includes(other)) return { problem: `${part} must not import ${other} (${specifier})` };
  return { target };
}

/**
 * Finds the circles in a graph, each once.
 * @param {Map<string, string[]>} graph
 * @returns {string[][]}
 */
function circles(graph) {
  /** @type {string[][]} */
  const found = [];
  /** @type {Map<string, 'open' | 'done'>} */
  const state = new Map();
  /** @type {string[]} */
  const path = [];
  /** @param {string} file */
  const visit = (file) => {
    if (state.get(file) === 'done') return;
    if (state.get(file) === 'open') {
      found.push([...path.slice(path.indexOf(file)), file]);
      return;
    }
    state.set(file, 'open');
    path.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    path.pop();
    state.set(file, 'done');
  };
  for (const file of graph.keys()) visit(file);
  return found;
}

/**
 * Checks all sources.
 * @param {string} sources
 * @returns {{ problems: string[], count: number }}
 */
function check(sources) {
  const names = readdirSync(sources, { recursive: true, encoding: 'utf8' }).sort();
  const files = new Set(names.filter((name) => name.endsWith('.ts')));
  /** @type {string[]} */
  const problems = [];
  /** @type {Map<string, string[]>} */
  const graph = new Map();
  for (const file of files) {
    if (!directions.has(partOf(file)))
      problems.push(`${file}: ${partOf(file)} is not in the table of import directions`);
    const text = readFileSync(join(sources, file), 'utf8');
    const { program, errors } = parseSync(file, text, { lang: 'ts' });
    if (errors.length > 0) problems.push(`${file}: cannot be parsed: ${errors[0]?.message}`);
    /** @type {Import[]} */
    const imports = [];
    collect(program, imports);
    /** @type {string[]} */
    const targets = [];
    for (const { specifier, offset, typeOnly } of imports) {
      const { target, problem } = judge(file, specifier, files);
      if (problem !== undefined) problems.push(`${file}:${text.slice(0, offset).split('\n').length}: ${problem}`);
      // Imports of types alone are gone when the program runs; two types may well speak of each other.
      if (target !== undefined && !typeOnly) targets.push(target);
    }
    graph.set(file, targets);
  }
  for (const circle of circles(graph))
    problems.push(`${circle[0]}: imports itself in a circle: ${circle.join(' -> ')}`);
  return { problems, count: files.size };
}

const sources = process.argv[2] ?? join(import.meta.dirname, '../src');
const { problems, count } = check(sources);
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (count === 0) process.stderr.write(`${relative(process.cwd(), sources)}: holds no sources\n`);
process.stdout.write(`${count} files, ${problems.length} wrong imports\n`);
process.exitCode = problems.length > 0 || count === 0 ? 1 : 0;
