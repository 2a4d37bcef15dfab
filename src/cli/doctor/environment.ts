import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { isSystemError } from '../../errors.js';
import { quoted } from '../output.js';
import type { Examined } from './examined.js';
import { ok, orOk, problem, type Result, warning } from './finding.js';

/** The home folder: it is there, and it is this user's. */
export function checkHome({ env, uid }: Examined): readonly Result[] {
  const home = env['HOME'] ?? '';
  if (home === '') return [problem('HOME is not set', 'set it to your home folder')];
  if (!isAbsolute(home)) return [problem(`HOME is ${quoted(home)}, a relative path`, 'set it to your home folder')];
  const stat = statOf(home);
  if (!stat?.isDirectory())
    return [problem(`HOME is ${quoted(home)}, which is not there`, 'set it to your home folder')];
  if (stat.uid === uid) return [ok(`the home folder is ${quoted(home)}`)];
  if (uid === 0)
    return [
      problem(
        `you are root in the home of user ${stat.uid} (${quoted(home)}): memory would be root's, and that user's agents could not reach it`,
        'run mend as that user, without sudo',
      ),
    ];
  return [problem(`HOME is ${quoted(home)}, which belongs to user ${stat.uid}`, 'set it to a home folder of yours')];
}

/** Variables that name folders. */
const FOLDERS = [
  { name: 'MEND_STORE_DIR', relative: 'mend refuses it' },
  { name: 'XDG_DATA_HOME', relative: 'it is ignored' },
  { name: 'XDG_CONFIG_HOME', relative: 'it is ignored' },
  { name: 'CLAUDE_CONFIG_DIR', relative: 'it means another folder wherever you stand' },
] as const;

/** The variables of the environment that say where things are. */
export function checkVariables({ env }: Examined): readonly Result[] {
  const faults = FOLDERS.flatMap(({ name, relative }) => {
    const value = env[name] ?? '';
    if (value === '') return [];
    if (!isAbsolute(value)) {
      const message = `${name} is ${quoted(value)}, a relative path: ${relative}`;
      return [
        name === 'MEND_STORE_DIR' ? problem(message, 'give the whole path') : warning(message, 'give the whole path'),
      ];
    }
    // The store's folder is made when it is needed, and looked at by checks of its own.
    if (name === 'MEND_STORE_DIR' || statOf(value)?.isDirectory()) return [];
    return [warning(`${name} is ${quoted(value)}, and there is no such folder`, 'make it, or correct the variable')];
  });
  const set = FOLDERS.filter(({ name }) => env[name]).map(({ name }) => name);
  return orOk(faults, set.length === 0 ? 'no variable moves a folder' : `${set.join(', ')} can be used`);
}

function statOf(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}
