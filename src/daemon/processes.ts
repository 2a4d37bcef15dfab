import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import type { ProcessEnd, Processes, ProcessInfo } from '../ports/process.js';

/** Flag of a task that is ending (`PF_EXITING` of the kernel's task flags). */
const PF_EXITING = 0x4;
/** A clock tick of proc_pid_stat(5) in µs: USER_HZ is 100 on every machine that Node.js runs on. */
const TICK = 10_000;
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

/** What proc_pid_status(5) says; unlike most of /proc it never waits for a process that is in execve(2). */
interface Status {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  /** `none` once the process has given up its memory, which it does before it closes its files. */
  readonly memory: 'none' | 'being replaced' | 'there';
}

const STATUS = /^Tgid:\s+(\d+)[\s\S]*?^PPid:\s+(\d+)(?:[\s\S]*?^NSsid:\s+(\d+))?(?:[\s\S]*?^VmExe:\s+(\d+))?/m;

function status(thread: number): Status | undefined {
  const match = STATUS.exec(read(`/proc/${thread}/status`) ?? '');
  if (!match) return undefined;
  const [, pid, parent, session, code] = match;
  // In the middle of execve(2) there is new memory without a program's code in it yet.
  const memory = code === undefined ? 'none' : code === '0' ? 'being replaced' : 'there';
  return { pid: Number(pid), parent: Number(parent), session: Number(session ?? 0), memory };
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
    const seen = status(thread);
    if (!seen) return undefined;
    const { pid, parent, session } = seen;
    if (seen.memory === 'being replaced') return { pid, parent, session, start: undefined };
    const fields = stat(`/proc/${pid}/stat`);
    if (!fields) return undefined;
    return { pid, parent: Number(fields[1]), session: Number(fields[3]), start: Number(fields[19]) };
  },

  executable(pid: number): string | undefined {
    try {
      return readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, '');
    } catch {
      return undefined;
    }
  },

  started(pid: number): number | undefined {
    if (status(pid)?.memory === 'being replaced') return undefined;
    const start = Number(stat(`/proc/${pid}/stat`)?.[19]);
    const uptime = Number.parseFloat(read('/proc/uptime') ?? '');
    const micros = Date.now() * 1000 - uptime * 1e6 + start * TICK;
    return Number.isFinite(micros) ? Math.floor(micros) : undefined;
  },

  holds(pid: number, path: string): boolean {
    if (status(pid)?.memory === 'being replaced') return false;
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === path);
    } catch {
      return false;
    }
  },

  end(thread: number): ProcessEnd | undefined {
    if ((status(thread)?.memory ?? 'none') !== 'none') return { exiting: false, signal: 0 };
    const fields = stat(`/proc/${thread}/stat`);
    if (!fields) return undefined;
    return { exiting: (Number(fields[6]) & PF_EXITING) !== 0, signal: Number(fields[49]) & 0x7f };
  },
};
