import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { MendError } from '../errors.js';
import { loadNative } from '../fuse/native.js';
import { storeFolderExists } from '../store/location.js';
import { type ControlClient, connectServing } from './control-client.js';
import { ANOTHER_SERVES, READY } from './readiness.js';
import { runtimeFiles } from './runtime-files.js';

/** Size in bytes above which a log is put aside when a daemon starts. */
const LOG_MAXIMUM = 1024 * 1024;
/** The supervisor does next to nothing, and is to take next to no memory. */
const ENGINE_OPTIONS = ['--max-semi-space-size=1', '--max-old-space-size=32', '--v8-pool-size=1'];
const SUPERVISOR = fileURLToPath(new URL('./supervise.js', import.meta.url));

/** Longest wait, in ms, for a daemon that another command starts or that is about to end. */
const PATIENCE = 15_000;
/** Wait, in ms, before looking for it again. */
const PAUSE = 25;
/** Daemons that are asked one after the other when each ends before it answers. */
const ATTEMPTS = 3;
const GONE = Symbol('gone');

/**
 * Connects to the daemon that serves a store here; undefined when none does.
 * @throws {MendError} when the store's folder is not this user's.
 */
async function findDaemon(folder: string): Promise<ControlClient | undefined> {
  if (!storeFolderExists(folder)) return undefined;
  const files = runtimeFiles(folder);
  return connectServing(files, files.owner);
}

/** Work for a daemon; it is done again from its start when the daemon ends meanwhile, so it must bear that. */
export type DaemonWork<T> = (rpc: ControlClient['rpc']) => Promise<T>;

/** Asks the daemon of a store; undefined when none serves it here. */
export function askDaemon<T>(folder: string, work: DaemonWork<T>): Promise<T | undefined> {
  return ask(() => findDaemon(folder), work);
}

/**
 * Asks the daemon of a store, which is started in the background when none runs.
 * @throws {MendError} when it does not start.
 */
export async function askStartedDaemon<T>(folder: string, work: DaemonWork<T>): Promise<T> {
  return (await ask(() => ensureDaemon(folder), work)) as T;
}

/** A daemon without mounts ends; a command that reached it in that moment asks its successor. */
async function ask<T>(find: () => Promise<ControlClient | undefined>, work: DaemonWork<T>): Promise<T | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const client = await find();
    if (!client) return undefined;
    try {
      const gone = client.closed.then(() => GONE);
      const answer = await Promise.race([work(client.rpc), gone]);
      if (answer !== GONE) return answer as T;
    } finally {
      client.close();
    }
  }
  throw new MendError('the daemon ended while it was asked: see daemon.log in the folder of the store, and try again');
}

/**
 * Connects to the daemon of a store, started in the background when none runs.
 * @throws {MendError} with the reason when it does not start.
 */
async function ensureDaemon(folder: string): Promise<ControlClient> {
  loadNative();
  for (const end = Date.now() + PATIENCE; ; ) {
    const running = await findDaemon(folder);
    if (running) return running;
    // After it was looked for: on a machine that is busy, the one started here may have taken all the time.
    if (Date.now() >= end) break;
    // Where another daemon holds the lock, the one started here ends at once; the other answers soon, or is ending.
    if (!(await startDaemon(folder))) await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  throw new MendError(`the daemon does not stay up: see ${join(folder, 'daemon.log')}`);
}

/** Starts a daemon; true when it serves, false when another one does. */
async function startDaemon(folder: string): Promise<boolean> {
  const errors = openLog(folder);
  try {
    const child = spawn(process.execPath, [...ENGINE_OPTIONS, SUPERVISOR], {
      cwd: '/',
      detached: true,
      env: { ...process.env, MEND_STORE_DIR: folder },
      stdio: ['ignore', 'ignore', errors, 'pipe'],
    });
    const words = await firstWords(child.stdio[3] as Readable, new Promise((_, reject) => child.on('error', reject)));
    child.unref();
    if (words !== READY && words !== ANOTHER_SERVES && words !== '') throw new MendError(words);
    return words === READY;
  } finally {
    closeSync(errors);
  }
}

async function firstWords(stream: Readable, failed: Promise<never>): Promise<string> {
  const read = async (): Promise<string> => {
    let text = '';
    for await (const chunk of stream.setEncoding('utf8')) text += String(chunk);
    return text.trim();
  };
  return Promise.race([read(), failed]);
}

function openLog(folder: string): number {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'daemon.log');
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LOG_MAXIMUM) renameSync(path, `${path}.old`);
  return openSync(path, 'a', 0o600);
}
