import { readdirSync, readFileSync } from 'node:fs';

/** A running process as /proc shows it. */
export interface ProcessEntry {
  readonly pid: number;
  /** The real user; the owner of /proc/<pid> can be root although a person started the program. */
  readonly uid: number;
  /** Ended and not yet waited for by its parent. */
  readonly zombie: boolean;
  /** The variables that the process was started with, `NAME=value`; empty when they may not be read. */
  environment(): string[];
}

function readEntry(pid: number): ProcessEntry | undefined {
  try {
    const uid = Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const zombie = stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
    return { pid, uid, zombie, environment: () => readEnvironment(pid) };
  } catch {
    // It ended since the folder was listed.
    return undefined;
  }
}

function readEnvironment(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** Every process that is running now. */
export function listProcesses(): ProcessEntry[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => readEntry(Number(pid))).filter((entry) => entry !== undefined);
}
