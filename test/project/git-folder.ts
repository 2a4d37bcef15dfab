import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';

const made: string[] = [];

afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A canonical scratch folder that is removed after the test. */
export function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'mend-project-')));
  made.push(folder);
  return folder;
}

const SETTINGS = {
  'user.name': 'n',
  'user.email': 'n@example.org',
  'init.defaultBranch': 'main',
  'protocol.file.allow': 'always',
  'commit.gpgSign': 'false',
};

/** An environment for Git that knows neither this user's nor this machine's configuration. */
export const gitEnv: NodeJS.ProcessEnv = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/nonexistent/gitconfig',
};

/** Runs the real Git in a folder; throws when it fails. */
export function run(folder: string, ...args: string[]): void {
  const settings = Object.entries(SETTINGS).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  execFileSync('git', [...settings, '-C', folder, ...args], { env: gitEnv, stdio: 'pipe' });
}

/** Makes a repository with one commit, and remote `origin` where a URL is given. Returns its folder. */
export function repositoryAt(folder: string, origin?: string): string {
  mkdirSync(folder, { recursive: true });
  run(folder, 'init', '-q', '.');
  run(folder, 'commit', '-q', '--allow-empty', '-m', 'first');
  if (origin !== undefined) run(folder, 'remote', 'add', 'origin', origin);
  return folder;
}
