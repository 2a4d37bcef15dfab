import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import type { ProcessEnd, ProcessInfo, Processes } from '../ports/process.js';

/** Flag of a task that is ending (`PF_EXITING` of the kernel's task flags). */
const PF_EXITING = 0x4;
const buffer = Buffer.alloc(8192);

function read(path: string): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    return buffer.toString('latin1', 0, readSync(fd, buffer));
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Fields of proc_pid_stat(5) from the third on; the second may hold any character. */
function stat(path: string): string[] | undefined {
  const text = read(path);
  if (text === undefined) return undefined;
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Thread group id of a thread: proc_pid_status(5), `Tgid`. */
function groupOf(thread: number): number | undefined {
  const match = /^Tgid:\s+(\d+)/m.exec(read(`/proc/${thread}/status`) ?? '');
  return match ? Number(match[1]) : undefined;
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Looks at processes through /proc. */
export const procProcesses: Processes = {
  info(thread: number): ProcessInfo | undefined {
    const pid = groupOf(thread);
    const fields = pid === undefined ? undefined : stat(`/proc/${pid}/stat`);
    if (pid === undefined || !fields) return undefined;
    return { pid, parent: Number(fields[1]), session: Number(fields[3]), start: Number(fields[19]) };
  },

  executable(pid: number): string | undefined {
    try {
      return readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, '');
    } catch {
      return undefined;
    }
  },

  holds(pid: number, path: string): boolean {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === path);
    } catch {
      return false;
    }
  },

  end(thread: number): ProcessEnd | undefined {
    const fields = stat(`/proc/${thread}/stat`);
    if (!fields) return undefined;
    return { exiting: (Number(fields[6]) & PF_EXITING) !== 0, signal: Number(fields[49]) & 0x7f };
  },
};
