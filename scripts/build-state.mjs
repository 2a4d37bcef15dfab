// @ts-check
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The checkout that this script lies in. */
export const root = join(import.meta.dirname, '..');

/** The addon that the build leaves. */
export const addon = join(root, 'native/build/Release/mend.node');

const inputs = ['src', 'native/mend.c', 'native/binding.gyp', 'package.json', 'tsconfig.json', 'scripts/build.mjs'];
const stampFile = join(root, 'dist/.stamp');

/**
 * Lists every file under a path, in a fixed order.
 * @param {string} path file or folder, relative to the checkout
 * @returns {string[]}
 */
function filesUnder(path) {
  const full = join(root, path);
  if (!existsSync(full)) return [];
  if (!statSync(full).isDirectory()) return [path];
  const names = readdirSync(full, { recursive: true, withFileTypes: true });
  return names
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();
}

/**
 * Hash over the names and contents of everything that the build reads.
 * @returns {string}
 */
export function sourceHash() {
  const hash = createHash('sha256');
  for (const file of inputs.flatMap(filesUnder)) {
    const bytes = readFileSync(join(root, file));
    hash.update(`${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

/**
 * Whether the addon is there and newer than what it is made from.
 * @returns {boolean}
 */
export function addonIsCurrent() {
  if (!existsSync(addon)) return false;
  const built = statSync(addon).mtimeMs;
  return ['mend.c', 'binding.gyp'].every((name) => statSync(join(root, 'native', name)).mtimeMs <= built);
}

/**
 * What the last build left: `current`, `stale` (complete, from other sources) or `incomplete`.
 * @returns {'current' | 'stale' | 'incomplete'}
 */
export function buildState() {
  if (!existsSync(join(root, 'dist/main.js')) || !existsSync(addon) || !existsSync(stampFile)) return 'incomplete';
  return readFileSync(stampFile, 'utf8').trim() === sourceHash() ? 'current' : 'stale';
}
