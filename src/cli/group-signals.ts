import { readFileSync, readSync } from 'node:fs';
import { isSystemError, MendError } from '../errors.js';
import { loadNative } from '../fuse/native.js';

/**
 * Tells which signals were sent to the group of this process, and not to this process alone: a second process in the group
 * gets those, too. The kernel does not say it of a signal.
 */
export class GroupSignals {
  readonly #pid: number;
  readonly #fd: number;

  /** @throws {MendError} when the second process cannot be started. */
  constructor() {
    const [start = 0, end = 0] = statFields('self').slice(ARGUMENTS_AT).map(Number);
    const watch = loadNative().watchGroup(start, end - start);
    if (typeof watch === 'number')
      throw new MendError(`the program cannot be started: there is no room for another process (errno ${-watch})`);
    [this.#pid, this.#fd] = watch;
  }

  /** The signals that came to the group since the last call. A signal that this process just got may not be told for some ms. */
  take(): Set<number> {
    const bytes = Buffer.alloc(256);
    try {
      return new Set(bytes.subarray(0, readSync(this.#fd, bytes)));
    } catch (error) {
      if (isSystemError(error, 'EAGAIN')) return new Set();
      throw error;
    }
  }

  end(): void {
    try {
      process.kill(this.#pid, 'SIGKILL');
    } catch (error) {
      if (!isSystemError(error, 'ESRCH')) throw error;
    }
  }
}

/** Index in what `statFields` gives of the address at which the arguments of a process begin; the next is where they end. */
const ARGUMENTS_AT = 45;

/** Fields of proc_pid_stat(5) from the third on, which is the state; empty when the process is gone. */
export function statFields(pid: number | 'self'): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch (error) {
    if (isSystemError(error)) return [];
    throw error;
  }
}
