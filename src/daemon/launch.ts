import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { MendError } from '../errors.js';
import { loadNative } from '../fuse/native.js';
import { type ControlClient, connectControl } from './control-client.js';
import { runtimeFiles } from './runtime-files.js';

/** Size in bytes above which a log is put aside when a daemon starts. */
const LOG_MAXIMUM = 1024 * 1024;
const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));

/** Connects to the daemon that serves a store here; undefined when none does. */
export function findDaemon(folder: string): Promise<ControlClient | undefined> {
  const files = runtimeFiles(folder);
  return connectControl(files.folder, files.socket);
}

/**
 * Connects to the daemon of a store, started in the background when none runs.
 * @throws {MendError} with the reason when it does not start.
 */
export async function ensureDaemon(folder: string): Promise<ControlClient> {
  loadNative();
  for (let attempt = 0; attempt < 3; attempt++) {
    const running = await findDaemon(folder);
    if (running) return running;
    await startDaemon(folder);
  }
  throw new MendError(`the daemon does not stay up: see ${join(folder, 'daemon.log')}`);
}

async function startDaemon(folder: string): Promise<void> {
  const errors = openLog(folder);
  try {
    const child = spawn(process.execPath, [MAIN, 'daemon'], {
      cwd: '/',
      detached: true,
      env: { ...process.env, MEND_STORE_DIR: folder },
      stdio: ['ignore', 'ignore', errors, 'pipe'],
    });
    const words = await firstWords(child.stdio[3] as Readable, new Promise((_, reject) => child.on('error', reject)));
    child.unref();
    if (words !== 'ready' && words !== '') throw new MendError(words);
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
