import { spawn } from 'node:child_process';
import { access, chmod, constants, lstat, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { sharedTemp } from '../support/shared-temp.js';

const INSTALL_TIMEOUT_MS = 300_000;

/** What npm calls the ways in which a registry can be out of reach. Every other failure is a failure of the check. */
const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT)\b/;

/** The installed program, or the reason why there is no registry to install it from. */
export type Installed = { readonly binary: string } | { readonly unreachable: string };

/** Where the program is kept between runs: outside the checkout, and readable for throw-away users when root runs it. */
function cacheFolder(): string {
  const explicit = process.env['XDG_CACHE_HOME'];
  if (explicit) return join(explicit, 'mend-test');
  if (process.getuid?.() === 0) return join(sharedTemp(), 'mend-test');
  return join(homedir(), '.cache', 'mend-test');
}

/** Makes the folder; one that another user owns or may write to is refused, since programs are started from it. */
async function ownFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw new Error(`${folder} must be a folder that only its owner, the user running the tests, can write to`);
  }
  await chmod(folder, 0o755);
}

/** A program that npm installs. */
export interface NpmProgram {
  readonly package: string;
  /** The release that the tests are written for. */
  readonly version: string;
  /** Files that may be the program in an installation, with the `package.json` that says which release it is. */
  readonly candidates: readonly { readonly manifest: string; readonly binary: string }[];
}

/** The platform package carries the program itself, so no install script has to run. */
async function findBinary(installation: string, { version, candidates }: NpmProgram): Promise<string | undefined> {
  for (const { manifest, binary } of candidates) {
    try {
      const found = JSON.parse(await readFile(join(installation, manifest), 'utf8')) as { version: string };
      if (!found.version.startsWith(version)) continue;
      await access(join(installation, binary), constants.X_OK);
      return join(installation, binary);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return undefined;
}

interface NpmOutcome {
  readonly code: number | null;
  readonly output: string;
}

function npmInstall(prefix: string, wanted: string): Promise<NpmOutcome> {
  const options = ['--no-fund', '--no-audit', '--ignore-scripts', '--engine-strict=false', '--global=false'];
  const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=120000'];
  return new Promise((resolve, reject) => {
    const npm = spawn('npm', ['install', '--prefix', prefix, ...options, ...patience, wanted], {
      cwd: prefix,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: INSTALL_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    const keep = (chunk: Buffer) => {
      output += chunk.toString();
    };
    npm.stdout.on('data', keep);
    npm.stderr.on('data', keep);
    npm.on('error', reject);
    npm.on('close', (code) => resolve({ code, output }));
  });
}

/**
 * Finds a program in the cache folder, or installs it there: beside its place first, so that an interrupted installation is
 * never taken for a whole one. Throws when npm fails for any reason but an unreachable registry.
 */
export async function installProgram(program: NpmProgram): Promise<Installed> {
  const wanted = `${program.package}@${program.version}`;
  const cache = cacheFolder();
  await ownFolder(cache);
  const installation = join(cache, wanted.replace(/^@[^/]*\//, '').replace('@', '-'));
  const present = await findBinary(installation, program);
  if (present) return { binary: present };

  const partial = await mkdtemp(`${installation}.partial-`);
  try {
    const npm = await npmInstall(partial, wanted);
    if (npm.code !== 0) {
      const reason = UNREACHABLE.exec(npm.output)?.[1];
      if (reason) return { unreachable: `the npm registry cannot be reached (${reason})` };
      throw new Error(`npm could not install ${wanted}:\n${npm.output}`);
    }
    await chmod(partial, 0o755);
    await rm(installation, { recursive: true, force: true });
    await rename(partial, installation);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  const installed = await findBinary(installation, program);
  if (!installed) throw new Error(`${wanted} has no program for this platform`);
  return { binary: installed };
}
