import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSystemError } from '../../errors.js';

/** The user's login. Codex writes it through the link, and makes it there when it is missing. */
const LOGIN = 'auth.json';
/** What else Codex writes through a link that leads to nothing yet: without one it would make files of the project's own. */
const WRITTEN = ['config.toml', '.credentials.json'];

/** The user's settings and instructions that Codex reads in its home, besides profiles (`<name>.config.toml`). */
const SETTINGS = [
  ...['config.toml', 'AGENTS.md', 'AGENTS.override.md', 'hooks.json', 'environments.toml', '.env', '.credentials.json'],
  ...['agents', 'hooks', 'plugins', 'prompts', 'rules', 'skills', 'themes'],
];
const PROFILE = /^[^/]+\.config\.toml$/;

/**
 * Links the user's login and settings into a project's home. What the project's home has itself stays, but for a login: the
 * newer one is the one that counts, as its tokens replace those of the older.
 */
export function shareWithUser(home: string, user: string): void {
  takeLoginOut(home, user);
  // A login is made through the link.
  if (!lstatSync(user, { throwIfNoEntry: false })) mkdirSync(user, { recursive: true, mode: 0o700 });
  for (const name of [LOGIN, ...WRITTEN]) link(join(user, name), join(home, name));
  for (const name of sharedNames(user)) {
    if (!lstatSync(join(user, name), { throwIfNoEntry: false })) continue;
    if (isCodexsOwn(join(home, name))) rmSync(join(home, name), { recursive: true, force: true });
    link(join(user, name), join(home, name));
  }
}

/** Settings that a home has itself, though the user has some of that name, or could: they are not shared. */
export function ownSettings(home: string, user: string): string[] {
  return sharedNames(user).filter((name) => {
    const own = lstatSync(join(home, name), { throwIfNoEntry: false });
    if (own === undefined || own.isSymbolicLink() || isCodexsOwn(join(home, name))) return false;
    return own.isFile() || lstatSync(join(user, name), { throwIfNoEntry: false }) !== undefined;
  });
}

function sharedNames(user: string): string[] {
  return [...SETTINGS, ...namesIn(user).filter((name) => PROFILE.test(name) && !SETTINGS.includes(name))];
}

/** A folder of skills with none but those that come with Codex, which it puts there itself. */
function isCodexsOwn(path: string): boolean {
  return (
    basename(path) === 'skills' &&
    lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true &&
    namesIn(path).every((name) => name === '.system')
  );
}

/** A login that a program put in the place of the link goes where it belongs. */
export function takeLoginOut(home: string, user: string): void {
  const own = join(home, LOGIN);
  const there = lstatSync(own, { throwIfNoEntry: false });
  if (!there?.isFile()) return;
  const target = realOf(join(user, LOGIN));
  const users = lstatSync(target, { throwIfNoEntry: false });
  if (!users || users.mtimeMs < there.mtimeMs) {
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    const fresh = temporaryBeside(target);
    copyFileSync(own, fresh);
    renameSync(fresh, target);
  }
  rmSync(own, { force: true });
}

/** Makes a link, or makes one lead elsewhere; what is no link stays. */
function link(target: string, path: string): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there && (!there.isSymbolicLink() || readlinkSync(path) === target)) return;
  const fresh = temporaryBeside(path);
  symlinkSync(target, fresh);
  renameSync(fresh, path);
}

function temporaryBeside(path: string): string {
  return join(dirname(path), `.mend.tmp.${process.pid}.${randomBytes(6).toString('hex')}`);
}

/** Where a path leads, also when it is a link itself. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (isSystemError(error)) return path;
    throw error;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isSystemError(error)) return [];
    throw error;
  }
}
