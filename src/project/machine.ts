import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isSystemError } from '../errors.js';
import { sync } from '../store/durable.js';
import type { MachineIdentity } from '../store/projects.js';

const SYSTEM_FILES = ['/etc/machine-id', '/var/lib/dbus/machine-id'];
/** Name of the file in the store's folder that has this machine's id where the system has none. */
const OWN_FILE = 'machine-id';
const MACHINE_ID = /^[0-9a-f]{32}$/;

/**
 * Who this machine is: its machine-id (machine-id(5)) and host name. A machine without one gets an id that is
 * made once and kept in the store's folder. `systemFiles` are the files asked first.
 */
export function readMachine(storeFolder: string, systemFiles: readonly string[] = SYSTEM_FILES): MachineIdentity {
  const known = systemFiles.map(readId).find((id) => id !== null);
  return { machineId: known ?? ownId(storeFolder), name: hostname() || 'localhost' };
}

/** The id that `readMachine` would give; undefined when it would have to make one. Writes nothing. */
export function knownMachineId(storeFolder: string, systemFiles: readonly string[] = SYSTEM_FILES): string | undefined {
  return [...systemFiles, join(storeFolder, OWN_FILE)].map(readId).find((id) => id !== null) ?? undefined;
}

/** The id in a file; null when the file is missing, unreadable or holds none ("uninitialized", empty). */
function readId(file: string): string | null {
  try {
    const text = readFileSync(file, 'utf8').trim().toLowerCase();
    return MACHINE_ID.test(text) && !/^0+$/.test(text) ? text : null;
  } catch (error) {
    if (isSystemError(error)) return null;
    throw error;
  }
}

/** Several processes may ask at once: whoever links its file first decides. */
function ownId(storeFolder: string): string {
  const file = join(storeFolder, OWN_FILE);
  const kept = readId(file);
  if (kept !== null) return kept;
  mkdirSync(storeFolder, { recursive: true, mode: 0o700 });
  const id = randomBytes(16).toString('hex');
  const temporary = `${file}.${id.slice(0, 8)}.tmp`;
  writeFileSync(temporary, `${id}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // An empty file would be in the way for good after the power went, and another id would be another machine.
    sync(temporary);
    linkSync(temporary, file);
    sync(storeFolder);
    return id;
  } catch (error) {
    const winner = readId(file);
    if (winner !== null) return winner;
    throw error;
  } finally {
    unlinkSync(temporary);
  }
}
