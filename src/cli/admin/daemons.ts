import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { MOUNT_TYPE } from '../../daemon/mount-point.js';

/** A daemon that runs, as the process table tells. */
export interface RunningDaemon {
  readonly uid: number;
  /** The process that serves. */
  readonly pid: number;
  /** The process above it, or null when that is gone. */
  readonly supervisor: number | null;
  /** Folder of the store that it serves. */
  readonly store: string;
  /** The mount namespace that it mounts in. */
  readonly namespace: string;
}

/** A mount of mend in the kernel's table. */
export interface SeenMount {
  readonly path: string;
  /** Whom fusermount3 mounted it for. */
  readonly uid: number;
  /** The mount namespace that has it, and its number there. */
  readonly id: string;
}

const SERVER = /\/daemon\/serve\.js$/;
const SUPERVISOR = /\/daemon\/supervise\.js$|\/main\.js$/;
const NAMESPACE = /\[(\d+)\]$/;

/** Every daemon on this machine, one for each store and mount namespace. */
export function runningDaemons(): RunningDaemon[] {
  const servers = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (serverAt(Number(name)) ?? []) : []));
  const found = new Map<string, RunningDaemon & { readonly devices: number }>();
  for (const one of servers) {
    const key = [one.uid, one.namespace, one.store].join(' ');
    // Beside the one that serves another may wait, loaded; it has no descriptor of a mount.
    const other = found.get(key);
    if (!other || one.devices > other.devices) found.set(key, one);
  }
  return [...found.values()].map(({ devices: _, ...daemon }) => daemon);
}

function serverAt(pid: number): (RunningDaemon & { readonly devices: number }) | undefined {
  try {
    if (!wordsOf(pid).some((word) => SERVER.test(word))) return undefined;
    const { uid, parent } = statusOf(pid);
    const store = readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .find((text) => text.startsWith('MEND_STORE_DIR='))
      ?.slice('MEND_STORE_DIR='.length);
    if (!store) return undefined;
    const namespace = namespaceOf(pid);
    return { uid, pid, store, namespace, supervisor: supervisorAt(parent, uid), devices: devicesOf(pid) };
  } catch {
    // It ended while it was looked at.
    return undefined;
  }
}

function supervisorAt(pid: number, uid: number): number | null {
  const isOne = statusOf(pid).uid === uid && wordsOf(pid).some((word) => SUPERVISOR.test(word));
  return isOne ? pid : null;
}

function wordsOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
}

function statusOf(pid: number): { uid: number; parent: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1');
  const number = (pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);
  return { uid: number(/^Uid:\s+(\d+)/m), parent: number(/^PPid:\s+(\d+)/m) };
}

function namespaceOf(pid: number): string {
  return NAMESPACE.exec(readlinkSync(`/proc/${pid}/ns/mnt`))?.[1] ?? '0';
}

/** How many descriptors of `/dev/fuse` a process has, of which it is not asked what is behind them. */
function devicesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === '/dev/fuse').length;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** The mount namespace of this process. */
export function ownNamespace(): string {
  return NAMESPACE.exec(readlinkSync('/proc/self/ns/mnt'))?.[1] ?? '0';
}

/** Mounts of mend, read from the table of a process: proc_pid_mountinfo(5). None of them is entered. */
export function mountsSeenBy(pid: number | 'self', namespace: string): SeenMount[] {
  const table = `/proc/${pid}/mountinfo`;
  const text = existsSync(table) ? readFileSync(table, 'utf8') : '';
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [type, , options = ''] = after.split(' ');
    const fields = before.split(' ');
    const uid = /(?:^|,)user_id=(\d+)/.exec(options)?.[1];
    if (type !== MOUNT_TYPE || uid === undefined) return [];
    const path = (fields[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    return [{ path, uid: Number(uid), id: `${namespace} ${fields[0]}` }];
  });
}
