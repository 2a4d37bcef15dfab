import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { MOUNT_TYPE, mountTable, realPath } from '../../daemon/mount-point.js';
import { harnesses, memoryHarnesses } from '../../harness/registry.js';
import { listFolder } from '../../import/folder-reader.js';
import { DEFAULT_LIMITS } from '../../ports/limits.js';
import { harnessEnvironment, repositoryOf } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { counted, printJson, printLine, quoted } from '../output.js';

interface Found {
  readonly harness: string;
  readonly folder: string;
  readonly files: number;
  readonly live: boolean;
}

export function addAdopt(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  program
    .command('adopt')
    .description('say how much memory agents keep for this repository on this machine')
    .summary('say how much memory agents keep for this repository')
    .option('--json', 'print one JSON document')
    .action((options: { json?: boolean }) => run(() => adopt(options.json === true)));
}

async function adopt(json: boolean): Promise<ExitStatus> {
  const { root } = await repositoryOf();
  const env = harnessEnvironment();
  const mounted = mountTable();
  const found: Found[] = memoryHarnesses.map((harness) => {
    const folder = harness.memoryFolder(root, env);
    const live = mounted.get(realPath(folder)) === MOUNT_TYPE;
    const isLocal = (path: string): boolean => harness.isLocal(path);
    const there = statSync(folder, { throwIfNoEntry: false })?.isDirectory();
    const files = there ? listFolder(folder, isLocal, DEFAULT_LIMITS.fileBytes).files.length : 0;
    return { harness: harness.name, folder, files, live };
  });
  if (json) printJson(found);
  else for (const one of found) print(one);
  return ExitStatus.done;
}

function print({ harness, folder, files, live }: Found): void {
  const title = harnesses.find((one) => one.name === harness)?.title ?? harness;
  printLine(`${title} keeps ${counted(files, 'memory file')} for this repository in ${quoted(folder)}`);
  const [they, them] = files === 1 ? ['it is', 'it'] : ['they are', 'them'];
  if (live) printLine(`  ${they} live: the folder is mounted`);
  else if (files > 0)
    printLine(`  "mend memory import" brings ${them} into the store; "mend mount" does so, too, and mounts the folder`);
  else printLine('  "mend mount" mounts the folder');
}
