import { readFileSync } from 'node:fs';
import { MOUNT_TYPE } from '../../daemon/mount-point.js';

/** A mount as the kernel lists it (proc_pid_mountinfo(5)). */
export interface MountEntry {
  readonly id: number;
  readonly parent: number;
  readonly path: string;
  readonly type: string;
  /** Of a FUSE mount, the user who made it. */
  readonly owner: number | undefined;
}

/** Every mount that this process sees, oldest first. */
export function mountEntries(): MountEntry[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [before = '', after] = line.split(' - ');
      const [id, parent, , , path] = before.split(' ');
      if (path === undefined || after === undefined) return [];
      const [type = '', , options = ''] = after.split(' ');
      const owner = /(?:^|,)user_id=(\d+)/.exec(options)?.[1];
      return [
        {
          ...{ id: Number(id), parent: Number(parent), path: unescaped(path), type },
          owner: owner === undefined ? undefined : Number(owner),
        },
      ];
    });
}

function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Mounts of mend that a user made. */
export function ownMounts(entries: readonly MountEntry[], uid: number): MountEntry[] {
  return entries.filter(({ type, owner }) => type === MOUNT_TYPE && owner === uid);
}

/** The mount that a canonical path leads to: at each step down whatever is mounted on top. */
export function mountReached(entries: readonly MountEntry[], path: string): MountEntry | undefined {
  const root = entries.find((one) => one.path === '/' && !entries.some((other) => other.id === one.parent));
  let at = root ?? entries.find((one) => one.path === '/');
  for (const step of stepsTo(path)) {
    for (let next = at; next; next = entries.find((one) => one.parent === at?.id && one.path === step && one !== at))
      at = next;
  }
  return at;
}

/** `/`, `/a`, `/a/b` for `/a/b`. */
function stepsTo(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '');
  return ['/', ...names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)];
}
