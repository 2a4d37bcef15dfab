import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isSystemError, MendError, usageError } from '../../errors.js';
import type { Manifest } from '../../import/credit/manifest.js';
import { parseManifest } from '../../import/credit/parse-manifest.js';
import { currentFolder } from '../context.js';
import { CreditReport } from '../credit/credit-report.js';
import { WorktreeCredit } from '../credit/credit-worktree.js';
import { lockCredits } from '../credit/lock.js';
import type { ExitStatus } from '../exit-status.js';
import { quoted } from '../output.js';
import type { Run } from '../program.js';

/** Largest manifest, in bytes. */
const LARGEST = 64 * 1024 ** 2;
const BLOCK = 1024 ** 2;

interface CreditCommandOptions {
  readonly dryRun?: boolean;
  readonly allowSecrets?: boolean;
  readonly json?: boolean;
}

export function addCredit(program: Command, run: Run): void {
  program
    .command('credit')
    .description('credit people with memory from the time when a workspace shared one home')
    .summary('credit people with memory of shared workspaces')
    .argument('<manifest>', 'a JSON file with readings, home records and sessions')
    .option('--dry-run', 'print what would be credited, and write nothing')
    .option('--allow-secrets', 'credit files that may hold passwords or keys, too')
    .option('--json', 'print one JSON document')
    .addHelpText('after', HELP)
    .action((manifest: string, options: CreditCommandOptions) => run(() => credit(manifest, options)));
}

const HELP = `
A reading is a copy of a memory folder that several people used. It is
credited to the person whom the record of its home names, when that is settled
and belongs to the workspace that wrote the reading; else to the one person
who owned every session that the worktree ever had; else to nobody.

Run by root, it credits everybody, in a process of each person's own. Run by
anybody else, it credits what is theirs, and skips the rest. What nobody is
credited with stays where it is, and "mend memory" says how much that is.

Running it again changes nothing. docs/credit.md describes the manifest.`;

async function credit(name: string, options: CreditCommandOptions): Promise<ExitStatus> {
  if (name === '') throw usageError('the manifest has no name: name a file');
  const manifest = read(name);
  const release = options.dryRun ? () => undefined : lockCredits();
  const report = new CreditReport(options.json === true);
  try {
    const how = { isDry: options.dryRun === true, allowSecrets: options.allowSecrets === true };
    for (const worktree of manifest.worktrees)
      for await (const result of new WorktreeCredit(manifest, worktree, how).run()) report.add(result);
  } finally {
    release();
  }
  return report.end();
}

/** @throws {MendError} when the manifest cannot be read, or is not one. */
function read(name: string): Manifest {
  const shown = quoted(name);
  let text: string;
  try {
    text = readText(resolve(currentFolder(), name), shown);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new MendError(`the manifest ${shown} cannot be read (${error.code}): check its path`, { cause: error });
  }
  try {
    return parseManifest(text);
  } catch (error) {
    if (!(error instanceof MendError)) throw error;
    throw new MendError(`${shown}: ${error.message}`, { cause: error });
  }
}

/** All that a file or pipe holds. */
function readText(path: string, shown: string): string {
  const fd = openSync(path, 'r');
  try {
    const blocks: Buffer[] = [];
    for (let length = 0; ; ) {
      const block = Buffer.alloc(BLOCK);
      const count = readSync(fd, block);
      if (count === 0) return Buffer.concat(blocks).toString();
      blocks.push(block.subarray(0, count));
      length += count;
      if (length > LARGEST) throw new MendError(`the manifest ${shown} is larger than ${LARGEST} bytes: split it`);
    }
  } finally {
    closeSync(fd);
  }
}
