import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { type DaemonStatus, statusRequest } from '../../daemon/control-protocol.js';
import { deadMountsOf } from '../../daemon/dead-mounts.js';
import { askDaemon } from '../../daemon/launch.js';
import { runtimeFiles } from '../../daemon/runtime-files.js';
import { usableSettings } from '../../daemon/settings.js';
import { version } from '../../daemon/version.js';
import { MendError } from '../../errors.js';
import { carriers } from '../../import/carrier.js';
import { STORE_FILE, storeExists, storeFolderExists } from '../../store/location.js';
import { displaced, isDisplaced } from '../../store/place.js';
import { ownStoreFolder, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { projectCommand } from '../memory-command.js';
import { complain, counted, printJson, printLine, printTable, quoted } from '../output.js';

interface StoreFile {
  readonly path: string;
  readonly bytes: number;
}

/** Longest wait, in ms, for the daemon's answer. */
const PATIENCE = 5000;

const NO_DAEMON: DaemonStatus = {
  version,
  pid: null,
  supervisor_pid: null,
  kernel: { protocol: null, resend: false },
  mounts: [],
  sessions: [],
};

export function addStatus(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  program
    .command('status')
    .description('mounts, store, and what the kernel offers')
    .option('--json', 'print one JSON document')
    .action((options: { json?: boolean }) => run(() => status(options.json === true)));
}

async function status(json: boolean): Promise<ExitStatus> {
  const folder = ownStoreFolder();
  // Opening the store says clearly what is wrong with it, where something is.
  const isInUseElsewhere = storeFolderExists(folder) && isDisplaced(join(folder, STORE_FILE));
  const hasDead = storeExists(folder) && !isInUseElsewhere;
  const looked = hasDead ? await attempt(() => withStore(false, deadMountsOf)) : { value: [] };
  const answered = await askDaemon(folder, (rpc) => inTime(rpc.sendRequest(statusRequest)));
  // What is wrong with the store keeps nobody from asking a daemon that has it open.
  if ('error' in looked && !answered) throw looked.error;
  const answer = answered ?? NO_DAEMON;
  const dead = 'value' in looked ? looked.value : [];
  const store = { path: join(folder, STORE_FILE), bytes: bytesOf(folder) };
  if (json) printJson(document(answer, store));
  else print(answer, store);
  const settings = usableSettings(process.env);
  for (const { refused, project, harness, path, moved } of answer.mounts) {
    if (moved !== null)
      complain(
        `the folder of the mount on ${quoted(path)} was moved to ${quoted(moved)}: ${projectCommand('mount', project)} mounts in its place again`,
      );
    const beside = carriers[harness]?.faults(dirname(path), settings.codex) ?? [];
    for (const fault of beside)
      complain(`${quoted(fault.path)} of project "${project}" is left out: it ${fault.reason}`);
    if (refused !== null && beside.every((fault) => fault.path !== refused))
      complain(`${quoted(refused)} of project "${project}" was refused: it is over a limit`);
  }
  if ('error' in looked) complain(looked.error.message);
  if (isInUseElsewhere) complain(displaced(join(folder, STORE_FILE)).message);
  if (answer.pid !== null && answer.supervisor_pid === null)
    complain(`the supervisor was ended, so the mounts end with process ${answer.pid}: unmount and mount again`);
  const failure = answer.pid === null ? failureOf(folder) : undefined;
  if (failure !== undefined) complain(failure);
  for (const path of dead)
    complain(`${quoted(path)} has lost the daemon that served it: run "mend mount" or "mend unmount" for it`);
  return ExitStatus.done;
}

/** What came of some work, or the error for people that it failed with. */
async function attempt<T>(work: () => Promise<T>): Promise<{ value: T } | { error: MendError }> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof MendError) return { error };
    throw error;
  }
}

/** @throws {MendError} when the daemon does not answer in time: it is stopped, or stuck. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = Symbol('late');
  const first = await Promise.race([answer, delay(PATIENCE, late, { ref: false })]);
  if (first !== late) return first as T;
  throw new MendError(
    `the daemon of this store does not answer: "mend doctor" looks into it, and "kill -CONT" wakes one that was stopped`,
  );
}

/** The document of `--json` (spec §11.2). */
function document({ version: v, pid, supervisor_pid, kernel, mounts, sessions }: DaemonStatus, store: StoreFile) {
  return {
    version: v,
    pid,
    supervisor_pid,
    store,
    kernel,
    mounts: mounts.map(({ refused: _, moved: __, ...mount }) => mount),
    sessions,
  };
}

/** Why no daemon serves any more, where the supervisor gave up. */
function failureOf(folder: string): string | undefined {
  const { failure } = runtimeFiles(folder);
  return existsSync(failure) ? readFileSync(failure, 'utf8').trim() : undefined;
}

/** Bytes of the store on disk, its log included. */
function bytesOf(folder: string): number {
  return ['', '-wal'].reduce(
    (sum, end) => sum + (statSync(join(folder, STORE_FILE + end), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

function print({ pid, kernel, mounts, sessions, ...answer }: DaemonStatus, store: StoreFile): void {
  printLine(`mend ${answer.version}${pid === null ? ', not running' : `, process ${pid}`}`);
  printLine(`store ${quoted(store.path)}, ${Math.ceil(store.bytes / 1024)} KB with its log`);
  if (kernel.protocol !== null)
    printLine(
      `kernel FUSE ${kernel.protocol}${kernel.resend ? ', can send requests again' : ', cannot send requests again: mounts are made anew when the server dies'}`,
    );
  if (mounts.length === 0) {
    printLine('nothing is mounted');
    return;
  }
  const rows = mounts.map((m) => [
    m.project,
    m.harness,
    `${m.files}/${m.limit_files}`,
    `${Math.ceil(m.bytes / 1024)}/${Math.floor(m.limit_bytes / 1024)} KB`,
    quoted(m.path),
  ]);
  printTable(['project', 'harness', 'files', 'size', 'mounted on'], rows);
  if (sessions.length > 0) printLine(`${counted(sessions.length, 'session')} with open files: ${sessions.join(', ')}`);
}
