import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { reachableByAll } from './shared-temp.js';

const checkout = join(import.meta.dirname, '../..');
const addon = 'native/build/Release/mend.node';

interface Lock {
  packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
}

/** Packages that the program needs at run time and that are installed, relative to the checkout. */
function runtimePackages(): string[] {
  const lock = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as Lock;
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path !== '' && !entry.dev && !entry.devOptional && existsSync(join(checkout, path)))
    .map(([path]) => path);
}

/** Opens a copied folder to every user. */
function openToAll(path: string): void {
  chmodSync(path, 0o755);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) openToAll(child);
    else if (entry.isFile()) chmodSync(child, 0o755);
  }
}

/** Whether every user can read a file or everything in a folder. */
function openTree(path: string): boolean {
  const stats = statSync(path);
  if (!stats.isDirectory()) return (stats.mode & 0o004) !== 0;
  return (stats.mode & 0o005) === 0o005 && readdirSync(path).every((name) => openTree(join(path, name)));
}

function readableByAll(): boolean {
  if (!reachableByAll(checkout) || !reachableByAll(join(checkout, addon, '..'))) return false;
  if (!reachableByAll(join(checkout, 'node_modules'))) return false;
  return ['dist', 'package.json', addon, ...runtimePackages()].every((part) => openTree(join(checkout, part)));
}

/**
 * Folder of a built mend that every user can run: the checkout when it is readable along its whole path, else a copy
 * that is made once per test run.
 */
export function programFolder(): string {
  for (const part of ['dist/main.js', addon]) {
    if (!existsSync(join(checkout, part))) throw new Error(`${part} is not built; run npm run build first.`);
  }
  if (readableByAll()) return checkout;
  const copy = join(inject('runFolder'), 'program');
  if (existsSync(copy)) return copy;
  const fresh = mkdtempSync(`${copy}-`);
  for (const part of ['dist', 'packaging', 'package.json', addon, ...runtimePackages()]) {
    mkdirSync(join(fresh, part, '..'), { recursive: true });
    cpSync(join(checkout, part), join(fresh, part), { recursive: true });
  }
  openToAll(fresh);
  try {
    renameSync(fresh, copy);
  } catch (error) {
    // Another worker of this run was faster; its copy is the same.
    if (!existsSync(copy)) throw error;
  }
  return copy;
}

/** The program's entry, to be run by Node.js as any user. */
export function programPath(): string {
  return join(programFolder(), 'dist/main.js');
}
