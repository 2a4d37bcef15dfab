import { lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { readSettings, settingsFile } from '../../daemon/settings.js';
import { isSystemError, MendError } from '../../errors.js';
import { shellWord } from '../../project/shell-word.js';
import { quoted } from '../output.js';
import type { Examined } from './examined.js';
import { ok, orOk, problem, type Result, warning } from './finding.js';

/** The settings can be read, are what they may be, and nobody else can change them. */
export function checkSettings({ env, uid }: Examined): readonly Result[] {
  const file = settingsFile(env);
  try {
    readSettings(env);
  } catch (error) {
    if (!(error instanceof MendError)) throw error;
    return [problem(`the settings cannot be used: ${error.message}`, 'correct the file, or move it away')];
  }
  if (!exists(file)) return [ok(`no settings (${quoted(file)}): everything is as it comes`)];
  const faults = [file, dirname(file)].flatMap((path) => {
    const stat = statSync(path);
    if (stat.uid !== uid && stat.uid !== 0)
      return [warning(`${quoted(path)} belongs to user ${stat.uid}, who can change your settings`, 'make it yours')];
    if ((stat.mode & 0o022) === 0) return [];
    return [
      warning(`others may write ${quoted(path)} and change your settings`, `run "chmod go-w ${shellWord(path)}"`),
    ];
  });
  return orOk(faults, `the settings in ${quoted(file)} are in order`);
}

function exists(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}
