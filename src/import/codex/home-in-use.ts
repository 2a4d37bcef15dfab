import { readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { isSystemError } from '../../errors.js';
import { ROOTS } from '../../harness/codex/memory-version.js';

/**
 * Whether another process has a file of a home open, such as Codex its databases, by the links of proc_pid_fd(5): nothing in
 * the home is touched. Who only has memory open is no Codex.
 */
export function isInUse(home: string): boolean {
  const real = realpathSync(home);
  const memory = Object.values(ROOTS).map((root) => `${real}/${root}`);
  const counts = (path: string): boolean =>
    path.startsWith(`${real}/`) && !memory.some((root) => path === root || path.startsWith(`${root}/`));
  return readdirSync('/proc').some(
    (pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid && openPaths(pid).some(counts),
  );
}

/** What a process has open; nothing for one of somebody else's, or that ended meanwhile. */
function openPaths(pid: string): string[] {
  const folder = `/proc/${pid}/fd`;
  return ifReadable(() => readdirSync(folder), []).flatMap((fd) =>
    ifReadable(() => [readlinkSync(`${folder}/${fd}`)], []),
  );
}

function ifReadable<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if (isSystemError(error)) return otherwise;
    throw error;
  }
}
