import { announceToDaemons } from '../../daemon/control-client.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { readSettings } from '../../daemon/settings.js';
import { MendError } from '../../errors.js';
import { memoryHarness } from '../../harness/registry.js';
import type { FoundFile, Skipped } from '../../import/folder-reader.js';
import { type FileSource, importFiles } from '../../import/import-folder.js';
import type { ImportOptions } from '../../import/import-options.js';
import { originFault } from '../../import/note-origin.js';
import { SecretScanner } from '../../import/secrets.js';
import { describeError, log } from '../../log.js';
import { pathFault } from '../../ports/limits.js';
import { projectOfRemote } from '../../project/remote-project.js';
import { discoverRepository, type Repository } from '../../project/repository.js';
import { sharedHome } from '../../store/machines.js';
import type { Store } from '../../store/store.js';
import { commandSession, ownStoreFolder, projectOf, withStore } from '../context.js';
import { withCopyOfStore } from '../copy-of-store.js';
import { FrameReader } from './frames.js';
import type { CreditAnswer, CreditRequest, SentHead } from './messages.js';

// Runs as the credited person, and imports into that person's memory the files that come on standard input. What it has to
// say goes to standard output.

async function receive(): Promise<void> {
  const frames = new FrameReader(process.stdin);
  const request = await frames.json<CreditRequest>();
  const repository = await repositoryIn(request);
  const work = (store: Store) => importInto(store, repository, request, frames);
  if (request.isDry) return withCopyOfStore(true, work);
  try {
    await withStore(true, work);
  } finally {
    await announceToDaemons(runtimeFiles(ownStoreFolder()));
  }
}

/** The checkout, undefined where only the remote is known. What the manifest says of both is not looked up. */
async function repositoryIn({ project: { remote, folder } }: CreditRequest): Promise<Repository | undefined> {
  if (folder === null) return undefined;
  if (!remote) return discoverRepository(folder);
  return { kind: 'git', root: folder, paths: [folder], origin: remote };
}

async function importInto(
  store: Store,
  repository: Repository | undefined,
  request: CreditRequest,
  frames: FrameReader,
): Promise<void> {
  const harness = memoryHarness(request.harness);
  const { limits } = readSettings(process.env);
  const { remote } = request.project;
  const project = store.write(() => {
    if (repository) return projectOf(store, repository);
    if (!remote) throw new MendError('the manifest names no project: correct it');
    return projectOfRemote(store.projects, remote, { machine: store.machine, now: store.now });
  });
  const { key, name } = request.source;
  const machine = store.write(() => sharedHome(store.db, key, name));
  const scanner = new SecretScanner();
  let session: number | undefined;
  const options: ImportOptions = {
    source: { machine, host: name, folder: '' },
    isLocal: (path) => harness.isLocal(path),
    maintained: harness.maintainedKeys,
    limits,
    ...(request.allowSecrets ? {} : { scan: scanner.scan.bind(scanner) }),
    refuse: (path, bytes) => originFault(store, { harness, project: project.id, machine }, path, bytes),
    session: () => (session ??= commandSession(store, 'mend credit')),
    progress: (file) => answer({ kind: 'file', file }),
  };
  try {
    await importFiles(
      store,
      store.treeOf(project.id, harness.name),
      sourceIn(request, frames, limits.fileBytes),
      options,
    );
  } finally {
    await scanner.close();
  }
}

/** The files on the stream. Those that are not asked for are passed over. */
function sourceIn({ files, skipped }: CreditRequest, frames: FrameReader, fileBytes: number): FileSource {
  const next = async (): Promise<{ readonly path: string } & (FoundFile | Skipped)> => {
    const head = await frames.json<SentHead>();
    return 'reason' in head ? head : { path: head.path, mtime: head.mtime, bytes: await frames.next() };
  };
  const read = async (path: string): Promise<FoundFile | Skipped> => {
    let found = await next();
    while (found.path !== path) found = await next();
    if ('reason' in found || found.bytes.length <= fileBytes) return found;
    return { path, reason: `is larger than ${fileBytes} bytes` };
  };
  return { files: files.filter((path) => !pathFault(path)), skipped, read };
}

function answer(value: CreditAnswer): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

try {
  await receive();
  answer({ kind: 'done' });
} catch (error) {
  log('debug', 'memory could not be credited', { error: describeError(error) });
  answer({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
}
// What was not asked for is not waited for.
process.stdin.destroy();
