import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inject } from 'vitest';
import { programFolder } from '../support/program.js';

/** Address of the scanner's module of a built program: a thread cannot be started from sources. */
export function scannerModule(folder = programFolder()): string {
  return pathToFileURL(join(folder, 'dist/import/secrets.js')).href;
}

/** The scanner of a built program. */
export async function loadScanner(folder?: string): Promise<typeof import('../../src/import/secrets.js')> {
  return (await import(scannerModule(folder))) as typeof import('../../src/import/secrets.js');
}

/** A copy of the program, installed as a package, in which the package with the rules is missing. */
export function programWithoutRules(): string {
  const installed = join(mkdtempSync(join(inject('runFolder'), 'incomplete-')), 'node_modules');
  const packages = join(programFolder(), 'node_modules');
  const folder = join(installed, 'mend');
  mkdirSync(folder, { recursive: true });
  // Copies: a link would lead back to where the package is.
  for (const part of ['dist', 'package.json'])
    cpSync(join(programFolder(), part), join(folder, part), { recursive: true });
  for (const name of readdirSync(packages).filter((name) => name !== '@secretlint' && name !== 'mend'))
    symlinkSync(join(packages, name), join(installed, name));
  return folder;
}
