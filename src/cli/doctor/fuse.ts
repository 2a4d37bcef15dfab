import { accessSync, closeSync, constants, openSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isSystemError } from '../../errors.js';
import { shellWord } from '../../project/shell-word.js';
import type { Examined } from './examined.js';
import { ok, problem, type Result } from './finding.js';

/** Bit of a mode: runs as its owner. */
const SETUID = 0o4000;
const DEVICE = '/dev/fuse';
/** Device number of /dev/fuse (the kernel's devices.txt): 10, 229. */
const DEVICE_NUMBER = (10 << 8) | 229;

/** The device is there and this user can open it. */
export function checkDevice(): Result[] {
  const container = 'load it with "modprobe fuse" as root, or start the container with --device /dev/fuse';
  const stat = statSync(DEVICE, { throwIfNoEntry: false });
  if (!stat) return [problem(`there is no ${DEVICE}`, container)];
  if (!stat.isCharacterDevice() || stat.rdev !== DEVICE_NUMBER)
    return [problem(`${DEVICE} is not the device of FUSE`, container)];
  try {
    closeSync(openSync(DEVICE, constants.O_RDWR));
    return [ok(`${DEVICE} can be opened`)];
  } catch (error) {
    if (isSystemError(error, 'EACCES'))
      return [
        problem(
          `${DEVICE} is closed to you (its mode is ${(stat.mode & 0o7777).toString(8).padStart(4, '0')})`,
          'have an administrator run "chmod 0666 /dev/fuse"',
        ),
      ];
    if (isSystemError(error, 'EPERM'))
      return [problem(`${DEVICE} may not be used here`, 'allow the container or sandbox to mount FUSE')];
    return [problem(`${DEVICE} cannot be opened (${isSystemError(error) ? error.code : error})`, container)];
  }
}

/** The helper that mounts is there and may do so. */
export function checkHelper({ env, uid }: Pick<Examined, 'env' | 'uid'>): Result[] {
  const install = 'install the package fuse3 ("apt install fuse3" on Debian)';
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const file = folders.map((folder) => join(folder, 'fusermount3')).find(isProgram);
  if (file === undefined) return [problem('fusermount3 is not on PATH', install)];
  if (uid === 0) return [ok(`${file} is there`)];
  const { mode, uid: owner } = statSync(file);
  if ((mode & SETUID) === 0 || owner !== 0)
    return [
      problem(
        `${file} may not mount for you: it is not a setuid program of root`,
        `have an administrator run "chown root ${shellWord(file)}" and "chmod u+s ${shellWord(file)}"`,
      ),
    ];
  if (/^NoNewPrivs:\s*1$/m.test(readFileSync('/proc/self/status', 'utf8')))
    return [
      problem(
        `${file} may not mount for you: this session cannot gain privileges (no_new_privs)`,
        'run "mend mount" outside of the sandbox or service that sets it',
      ),
    ];
  return [ok(`${file} can mount`)];
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
