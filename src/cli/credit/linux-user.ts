import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isSystemError, MendError } from '../../errors.js';

/** An account of this machine. */
export interface LinuxUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** Longest wait, in ms, for a directory of users. */
const PATIENCE = 20_000;

/**
 * Looks a user up by name or number, wherever the machine has its users (getent(1), passwd(5)).
 * @throws {MendError} when there is none, or it is root
 */
export async function findUser(user: string): Promise<LinuxUser> {
  const line = await entryOf(user);
  const [name = '', , uid, gid, , home = ''] = line.split(':');
  const ids = [Number(uid), Number(gid)];
  if (name === '' || !home.startsWith('/') || ids.some((id) => !Number.isInteger(id)))
    throw new MendError(`this machine has no user "${user}": make it, or correct the manifest`);
  const found = { name, uid: Number(uid), gid: Number(gid), home };
  if (found.uid !== 0) return found;
  throw new MendError(`user "${user}" is root, who is no person: correct the manifest`);
}

/** The line of passwd(5); empty when there is none. */
function entryOf(user: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('getent', ['passwd', '--', user], { cwd: '/', timeout: PATIENCE }, (error, stdout) => {
      if (error === null) resolve(stdout.split('\n')[0] ?? '');
      else if (isSystemError(error, 'ENOENT')) resolve(fromFile(user));
      else if (error.code === 2 || error.code === 1) resolve('');
      else reject(new MendError(`user "${user}" cannot be looked up (${error.message}): try again`, { cause: error }));
    });
  });
}

/** Where getent(1) is missing, there is only the file. */
function fromFile(user: string): string {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  const of = (index: number) => lines.find((line) => line.split(':')[index] === user);
  return of(0) ?? of(2) ?? '';
}
