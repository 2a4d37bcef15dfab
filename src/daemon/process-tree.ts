import { readdirSync } from 'node:fs';
import { procProcesses } from './processes.js';

/** A process by what names it for good. */
export interface ProcessId {
  readonly pid: number;
  readonly start: number;
}

/**
 * Some processes and everything that they started and that is there now, as far as their parents live.
 * @param without processes that are left out, with what they started
 */
export function processTree(roots: readonly number[], without: readonly number[] = []): ProcessId[] {
  const children = new Map<number, number[]>();
  const starts = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const info = /^\d+$/.test(name) ? procProcesses.info(Number(name)) : undefined;
    if (!info) continue;
    if (info.start !== undefined) starts.set(info.pid, info.start);
    const siblings = children.get(info.parent);
    if (siblings) siblings.push(info.pid);
    else children.set(info.parent, [info.pid]);
  }
  const found: ProcessId[] = [];
  const open = [...roots];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    if (without.includes(pid) || found.some((one) => one.pid === pid)) continue;
    const start = starts.get(pid);
    if (start !== undefined) found.push({ pid, start });
    open.push(...(children.get(pid) ?? []));
  }
  return found;
}
