import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isSystemError, MendError } from '../../errors.js';

/** An account of this machine: an entry of passwd(5). */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** Longest wait, in ms, for a directory of users. */
const PATIENCE = 20_000;

/** The account with a name, or with a number, wherever the machine has its users (getent(1)). */
export async function findAccount(user: string): Promise<Account | undefined> {
  const [name = '', , uid = '', gid = '', , home = ''] = user === '' ? [] : (await entryOf(user)).split(':');
  if (name === '' || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return undefined;
  return { name, uid: Number(uid), gid: Number(gid), home };
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
