import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { build } from 'vite';
import { withDeadline } from '../support/mounted.js';
import type { TestUser } from '../support/users.js';
import type { Place, PosixResult } from './posix-case.js';

/** Which of the two sets of cases: those in `cases/*.ts`, or those in `cases.py` and `python/`. */
export type Language = 'node' | 'python';

export interface RunOptions {
  /** The folder to run over: empty, and owned by the user. On a mount it is the mount point. */
  dir: string;
  place: Place;
  language: Language;
  /** Who runs the cases. */
  user: TestUser;
  /** After this the mount is aborted and the child killed; 150 by default. */
  seconds?: number;
}

/** What a run over one folder gave: the results by name of the case, and what the child said besides. */
export interface RunReport {
  results: Map<string, PosixResult>;
  /** How the child ended, for a case that has no result. */
  ending: string;
}

const HERE = import.meta.dirname;

/** The child programs in a folder that every user can read. */
export interface Programs {
  node: string;
  python: string;
}

/** Bundles the Node.js cases to plain JavaScript and copies the Python ones beside them, under the run's folder. */
export async function preparePrograms(runFolder: string): Promise<Programs> {
  const folder = fs.mkdtempSync(path.join(runFolder, 'posix-programs-'));
  await build({
    configFile: false,
    root: HERE,
    logLevel: 'error',
    build: {
      ssr: path.join(HERE, 'child.ts'),
      target: 'node20',
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      rollupOptions: { output: { format: 'es', entryFileNames: 'child.mjs' } },
    },
  });
  fs.copyFileSync(path.join(HERE, 'cases.py'), path.join(folder, 'cases.py'));
  fs.cpSync(path.join(HERE, 'python'), path.join(folder, 'python'), {
    recursive: true,
    filter: (source) => !source.includes('__pycache__'),
  });
  execFileSync('chmod', ['-R', 'a+rX', folder]);
  return {
    node: path.join(folder, 'child.mjs'),
    python: path.join(folder, 'cases.py'),
  };
}

/**
 * The Python that every user can run: the system's own before whatever the caller's PATH has, which may lie in the
 * caller's home. Undefined where there is none.
 */
export function python(): string | undefined {
  return ['/usr/bin/python3', 'python3'].find((program) => {
    const { status } = spawnSync(program, ['-c', ''], { stdio: 'ignore' });
    return status === 0;
  });
}

/** The names of the Python cases, asked of the program itself. */
export function pythonCaseNames(program: string): string[] {
  const out = execFileSync(program, ['-B', path.join(HERE, 'cases.py'), '--list'], { encoding: 'utf8' });
  return out.split('\n').filter((line) => line !== '');
}

/** Runs all cases of one language over one folder in a child process, in the POSIX session of this process. */
export async function runCases(programs: Programs, options: RunOptions): Promise<RunReport> {
  const { dir, place, language, user, seconds = 150 } = options;
  const program = language === 'node' ? [process.execPath, programs.node] : [python() ?? '', '-B', programs.python];
  let out = '';
  let said = '';
  const child = user.spawn([program[0] ?? '', ...program.slice(1), dir, place], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const end = ended(child);
  let how: string;
  try {
    how = await withDeadline(seconds, place === 'mount' ? [dir] : [], () => end);
  } catch (error) {
    child.kill('SIGKILL');
    // What a descendant holds open must not hold the test.
    child.stdout?.destroy();
    child.stderr?.destroy();
    how = String(error);
  }
  return { results: parse(out), ending: `${how} ${said.slice(-2000)}`.trim() };
}

function ended(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(`the program ended with ${signal ?? code}`));
  });
}

function parse(out: string): Map<string, PosixResult> {
  const results = new Map<string, PosixResult>();
  for (const line of out.split('\n')) {
    if (!line.startsWith('{')) continue;
    const result = JSON.parse(line) as PosixResult;
    if (results.has(result.name)) throw new Error(`two cases are named "${result.name}"`);
    results.set(result.name, result);
  }
  return results;
}
