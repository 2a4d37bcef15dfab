import { readFileSync } from 'node:fs';

/** Paths that something is mounted on here (proc_pid_mountinfo(5)): none is touched, since this process may serve it. */
export function mountPoints(): Set<string> {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return new Set(lines.flatMap((line) => line.split(' ')[4] ?? []).map(plain));
}

/** The table has blanks and backslashes in octal. */
function plain(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
