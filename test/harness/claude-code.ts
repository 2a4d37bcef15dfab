import { spawn } from 'node:child_process';
import { access, chmod, constants, lstat, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { sharedTemp } from '../support/shared-temp.js';

/** The release this check is written for. Another release is another check: raise it by hand. */
export const CLAUDE_CODE_VERSION = '2.1.332';

const PACKAGE = '@anthropic-ai/claude-code';
const INSTALL_TIMEOUT_MS = 300_000;

/** What npm calls the ways in which a registry can be out of reach. Every other failure is a failure of the check. */
const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT)\b/;

/** The installed program, or the reason why there is no registry to install it from. */
export type ClaudeCode = { readonly binary: string } | { readonly unreachable: string };

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

/** The platform package carries the program itself, so no install script has to run. */
async function findBinary(installation: string): Promise<string | undefined> {
  const platform = `${PACKAGE}-${process.platform}-${process.arch}`;
  for (const name of [platform, `${platform}-musl`]) {
    const folder = join(installation, 'node_modules', name);
    try {
      const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
      if (manifest.version !== CLAUDE_CODE_VERSION) continue;
      await access(join(folder, 'claude'), constants.X_OK);
      return join(folder, 'claude');
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

function npmInstall(prefix: string): Promise<NpmOutcome> {
  const options = ['--no-fund', '--no-audit', '--ignore-scripts', '--engine-strict=false', '--global=false'];
  const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=120000'];
  const wanted = `${PACKAGE}@${CLAUDE_CODE_VERSION}`;
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
 * Finds Claude Code in the cache folder, or installs it there: beside its place first, so that an interrupted
 * installation is never taken for a whole one. Throws when npm fails for any reason but an unreachable registry.
 */
export async function installClaudeCode(): Promise<ClaudeCode> {
  const cache = cacheFolder();
  await ownFolder(cache);
  const installation = join(cache, `claude-code-${CLAUDE_CODE_VERSION}`);
  const present = await findBinary(installation);
  if (present) return { binary: present };

  const partial = await mkdtemp(`${installation}.partial-`);
  try {
    const npm = await npmInstall(partial);
    if (npm.code !== 0) {
      const reason = UNREACHABLE.exec(npm.output)?.[1];
      if (reason) return { unreachable: `the npm registry cannot be reached (${reason})` };
      throw new Error(`npm could not install ${PACKAGE}@${CLAUDE_CODE_VERSION}:\n${npm.output}`);
    }
    await chmod(partial, 0o755);
    await rm(installation, { recursive: true, force: true });
    await rename(partial, installation);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  const installed = await findBinary(installation);
  if (!installed) throw new Error(`${PACKAGE}@${CLAUDE_CODE_VERSION} has no program for this platform`);
  return { binary: installed };
}
