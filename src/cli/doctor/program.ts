import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { isSystemError, MendError } from '../../errors.js';
import { loadNative } from '../../fuse/native.js';
import { git } from '../../project/git.js';
import type { Examined } from './examined.js';
import { ok, problem, problemOf, type Result } from './finding.js';

/** The oldest Node.js that mend runs on, from its package.json. */
function oldestNode(): string {
  const file = new URL('../../../package.json', import.meta.url);
  const { engines } = JSON.parse(readFileSync(file, 'utf8')) as { engines: { node: string } };
  return engines.node.replace(/^>=/, '');
}

/** Node.js is recent enough. */
export function checkNode(version: string = process.versions.node, oldest: string = oldestNode()): Result[] {
  if (!isOlder(version, oldest)) return [ok(`Node.js ${version}`)];
  return [problem(`Node.js ${version} is too old`, `install Node.js ${oldest} or later`)];
}

/** The addon is built and can be loaded. */
export function checkNative(): Result[] {
  try {
    loadNative();
    return [ok('the native part is loaded')];
  } catch (error) {
    const cause = error instanceof MendError ? error.cause : undefined;
    if (!isSystemError(cause) || cause.code === 'MODULE_NOT_FOUND') return [problemOf(error)];
    return [
      problem(
        `the native part cannot be loaded by Node.js ${process.versions.node} on ${process.arch}`,
        'run "npm run build" in the clone of mend with the Node.js that runs mend',
      ),
    ];
  }
}

/** The oldest kernel whose FUSE protocol mend speaks (7.28). */
const OLDEST_KERNEL = '4.20';

/** What newer kernels give, by the version that has it first. */
const OFFERS = [
  { since: '6.9', have: 'requests in flight can be sent again', lack: 'cannot send requests again (from 6.9)' },
  { since: '6.14', have: 'stuck requests end by themselves', lack: 'cannot end stuck requests by itself (from 6.14)' },
] as const;

/** The kernel, and what it offers. */
export function checkKernel({ daemon }: Pick<Examined, 'daemon'>, version: string = release()): Result[] {
  if (isOlder(version, OLDEST_KERNEL))
    return [problem(`Linux ${version} is too old for mend's mounts`, `use a kernel from ${OLDEST_KERNEL} on`)];
  const protocol = typeof daemon === 'object' ? daemon.kernel.protocol : null;
  const offers = OFFERS.map(({ since, have, lack }) => (isOlder(version, since) ? lack : have));
  return [ok(`Linux ${version}${protocol === null ? '' : `, FUSE ${protocol}`}: ${offers.join(', ')}`)];
}

/** Git can be run. */
export async function checkGit(): Promise<Result[]> {
  try {
    const { status, stdout } = await git('/', ['--version']);
    if (status === 0) return [ok(stdout.trim().replace(/^git version/, 'Git'))];
    return [problem('"git --version" fails', 'install the package "git" anew')];
  } catch (error) {
    return [problemOf(error)];
  }
}

/** Compares the first two numbers of versions. */
function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const [thanMajor = 0, thanMinor = 0] = than.split('.').map(Number);
  return major < thanMajor || (major === thanMajor && minor < thanMinor);
}
