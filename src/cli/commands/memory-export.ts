import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import type { Command } from 'commander';
import { mountAbove } from '../../daemon/mount-point.js';
import { MendError, usageError } from '../../errors.js';
import { memoryHarness } from '../../harness/registry.js';
import { type ExportFile, exportFiles } from '../../import/export-files.js';
import { tarArchive } from '../../import/export-tar.js';
import { exportToFile, exportToFolder } from '../../import/export-target.js';
import type { Project } from '../../store/projects.js';
import type { Store } from '../../store/store.js';
import { currentFolder, knownProject, treeOf, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { counted, printLine, quoted, sized } from '../output.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

interface ExportOptions extends MemoryOptions {
  readonly harness?: string;
}

/** The harness whose files lie at the top. */
const TOP = 'claude';
/** Stands for standard output. */
const STANDARD_OUTPUT = '-';

export function addMemoryExport(command: Command, run: RunMemory): void {
  command
    .description('write the files into a folder or an archive, as they are now')
    .argument('<target>', 'a new or empty folder, a new .tar, .tar.gz or .tgz, or - for a tar on standard output')
    .option('--harness <name>', 'only the files of this harness')
    .addHelpText('after', HELP)
    .action((target: string, options: ExportOptions) => run((merged) => exportMemory(target, merged(options))));
}

const HELP = `
The files of Claude Code lie at the top, as in its memory folder, those of
another harness in a folder of its name. Times and modes are kept; history
and local files are not exported. Nothing that is there already is replaced.
"mend memory import --from <folder> --machine <name>" reads such a folder, but
not the memory of Codex, which "mend store backup" takes along.`;

async function exportMemory(target: string, options: ExportOptions): Promise<ExitStatus> {
  if (target === '') throw usageError('the target of the export has no name: name a folder or an archive');
  if (target === STANDARD_OUTPUT && process.stdout.isTTY)
    throw usageError('an archive is not for a terminal: send the output to a file or a pipe, or name a target');
  const path = resolve(currentFolder(), target);
  if (target !== STANDARD_OUTPUT && mountAbove(path) !== undefined)
    throw new MendError(`${quoted(path)} lies in a mounted memory folder: name a target outside`);
  const files = await withStore(false, async (store) =>
    filesOf(store, await knownProject(store, options.project), options.harness),
  );
  const archive = tarArchive(files, { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 });
  if (target === STANDARD_OUTPUT) {
    await pipeline(Readable.from(archive), process.stdout, { end: false });
    return ExitStatus.done;
  }
  if (/\.(?:tar\.gz|tgz)$/i.test(path)) exportToFile(path, [gzipSync(Buffer.concat([...archive]))]);
  else if (/\.tar$/i.test(path)) exportToFile(path, archive);
  else exportToFolder(path, files);
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
  printLine(`exported ${counted(files.length, 'file')} (${sized(bytes)}) to ${quoted(path)}`);
  return ExitStatus.done;
}

/** @throws {MendError} when there is nothing to export, or two harnesses' files would lie in one another's way. */
function filesOf(store: Store, project: Project, harness: string | undefined): readonly ExportFile[] {
  const trees = harness === undefined ? store.trees.ofProject(project.id) : [treeOf(store, project, harness)];
  const known = trees.filter((tree) => tree !== undefined);
  // A name that there is not is refused before it is said to have no memory.
  if (harness !== undefined && known.length === 0) memoryHarness(harness);
  const content = exportFiles(store, known, harness ?? TOP);
  if ('inTheWay' in content) {
    const { inTheWay } = content;
    throw new MendError(
      `the memory of Claude Code has an entry named ${inTheWay} itself, where the files of ${inTheWay} would lie: export one at a time with --harness`,
    );
  }
  if (content.files.length > 0) return content.files;
  const whose = harness === undefined ? '' : ` of ${harness}`;
  throw new MendError(`project "${project.name}" has no memory${whose} yet, so there is nothing to export`);
}
