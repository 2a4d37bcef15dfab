import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MendError } from '../../errors.js';
import { printable } from '../../project/printable.js';
import type { Account } from '../people/account.js';
import { MAIN } from './as-person.js';
import type { PersonRecord } from './people.js';

/** The unit as it is in the package; `PROGRAM` in it stands for the command that runs mend. */
const UNIT = fileURLToPath(new URL('../../../packaging/mend.service', import.meta.url));
const PROGRAM = '/usr/bin/mend';
const NAME = 'mend.service';
const FOLDER = '/etc/systemd/user';
/** Where packages of a distribution put theirs, which are left alone. */
const PACKAGED = ['/usr/lib/systemd/user', '/lib/systemd/user'];
const LINGER = '/var/lib/systemd/linger';

/** Whether systemd started this machine: sd_booted(3). */
export function systemdRuns(): boolean {
  return existsSync('/run/systemd/system');
}

/** Puts the unit where the managers of all users find it, with the paths of this installation. */
export function installUnit(): void {
  if (PACKAGED.some((folder) => existsSync(`${folder}/${NAME}`))) return;
  mkdirSync(FOLDER, { recursive: true, mode: 0o755 });
  const fresh = `${FOLDER}/.${NAME}.new`;
  writeFileSync(fresh, unitText(), { mode: 0o644 });
  renameSync(fresh, `${FOLDER}/${NAME}`);
}

function unitText(): string {
  const program = `${commandWord(process.execPath)} ${commandWord(MAIN)}`;
  const text = readFileSync(UNIT, 'utf8').replaceAll(PROGRAM, () => program);
  const system = process.env['MEND_SYSTEM_DIR'];
  // The managers of users do not have it of root.
  return system
    ? text.replace('[Service]\n', (head) => `${head}Environment=${quotedWord(`MEND_SYSTEM_DIR=${system}`)}\n`)
    : text;
}

/** A word in a unit: systemd.syntax(7), systemd.unit(5). */
function quotedWord(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`;
}

/** A word of a command line, in which variables are replaced, too: systemd.service(5). */
function commandWord(text: string): string {
  return quotedWord(text).replaceAll('$', '$$$$');
}

/**
 * Has a person's manager run at boot, and start the unit.
 * @returns true when lingering was off before
 */
export async function enableUnit(account: Account): Promise<boolean> {
  const isNew = !existsSync(`${LINGER}/${account.name}`);
  if (isNew) await call('loginctl', ['enable-linger', account.name]);
  await manager(account, 'daemon-reload');
  await manager(account, 'enable', NAME);
  return isNew;
}

/** Takes that back. Lingering that somebody else switched on stays. */
export async function disableUnit({ name, linger }: PersonRecord): Promise<void> {
  await manager({ name }, 'disable', NAME);
  if (linger) await call('loginctl', ['disable-linger', name]);
}

export async function startUnit(account: Account): Promise<void> {
  await manager(account, 'start', NAME);
}

async function manager({ name }: { readonly name: string }, ...words: string[]): Promise<void> {
  await call('systemctl', ['--user', `--machine=${name}@.host`, ...words]);
}

function call(program: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: '/', timeout: 60_000 }, (error, _, stderr) => {
      if (error === null) return resolve();
      const [reason = ''] = stderr.trim().split('\n').filter(Boolean);
      const words = printable(reason || error.message.split('\n')[0] || '');
      reject(new MendError(`"${[program, ...args].join(' ')}" failed (${words}): mend that, and run this again`));
    });
  });
}
