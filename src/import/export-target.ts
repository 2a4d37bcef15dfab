import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fsyncSync,
  futimesSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError, MendError } from '../errors.js';
import { printable } from '../project/printable.js';
import { placeNew } from '../store/durable.js';
import { type ExportFile, FILE_MODE, FOLDER_MODE, foldersOf } from './export-files.js';
import { fileTime } from './file-time.js';

/**
 * Writes files into a folder that is missing or empty. They come to be under a hidden name first, which every harness
 * and import takes for left behind, and get their own names when all are written.
 * @throws {MendError} when something is there, or cannot be written; what was written is taken away then.
 */
export function exportToFolder(target: string, files: readonly ExportFile[]): void {
  const isThere = checkTarget(target, 'folder');
  const stage = stageFor(isThere ? target : dirname(target));
  const moved: string[] = [];
  undoing(target, [stage], moved, () => {
    mkdirSync(stage, FOLDER_MODE);
    chmodSync(stage, FOLDER_MODE);
    for (const folder of foldersOf(files).keys()) {
      mkdirSync(`${stage}/${folder}`);
      chmodSync(`${stage}/${folder}`, FOLDER_MODE);
    }
    for (const file of files) writeFile(`${stage}/${file.path}`, [file.bytes], file.mtime);
    if (!isThere) {
      checkTarget(target, 'nothing');
      renameSync(stage, target);
      return;
    }
    for (const name of readdirSync(stage)) {
      const place = join(target, name);
      if (lstatSync(place, { throwIfNoEntry: false })) throw isNotEmpty(target);
      renameSync(join(stage, name), place);
      moved.push(place);
    }
    rmdirSync(stage);
  });
}

/**
 * Writes an archive to a file that is missing, the same way.
 * @throws {MendError} as `exportToFolder` does.
 */
export function exportToFile(target: string, parts: Iterable<Buffer>): void {
  checkTarget(target, 'nothing');
  const stage = stageFor(dirname(target));
  undoing(target, [stage], [], () => {
    writeFile(stage, parts);
    placeNew(stage, target);
  });
}

/** A name for what is not complete yet. */
function stageFor(folder: string): string {
  return join(folder, `.mend.tmp.${process.pid}.${randomBytes(4).toString('hex')}`);
}

/** @param mtime in µs; now when undefined, and then what is written is on the disk when this returns */
function writeFile(path: string, parts: Iterable<Buffer>, mtime?: number): void {
  const fd = openSync(path, 'wx', FILE_MODE);
  try {
    for (const part of parts) for (let at = 0; at < part.length; ) at += writeSync(fd, part, at);
    fchmodSync(fd, FILE_MODE);
    // Times go through a float, which is exact to less than half a microsecond.
    if (mtime !== undefined) futimesSync(fd, fileTime(mtime), fileTime(mtime));
    else fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Runs work; when it fails, takes away what it made and says why in one sentence. */
function undoing(target: string, made: readonly string[], moved: readonly string[], work: () => void): void {
  try {
    work();
  } catch (error) {
    for (const path of [...made, ...moved]) rmSync(path, { recursive: true, force: true });
    throw explain(error, target);
  }
}

/**
 * Looks at what has the name of the target. True when it is an empty folder.
 * @throws {MendError} when it is anything else that is not wanted.
 */
function checkTarget(target: string, wanted: 'folder' | 'nothing'): boolean {
  const shown = JSON.stringify(printable(target));
  const parent = dirname(target);
  if (!statSync(parent, { throwIfNoEntry: false })?.isDirectory())
    throw new MendError(`there is no folder ${JSON.stringify(printable(parent))} to export to: make it first`);
  const there = lstatSync(target, { throwIfNoEntry: false });
  if (!there) return false;
  if (there.isSymbolicLink())
    throw new MendError(`${shown} is a link, and exports go through none: name another target`);
  if (wanted === 'nothing' || !there.isDirectory())
    throw new MendError(`${shown} is there already, and an export replaces nothing: name another target`);
  if (readdirSync(target).length > 0) throw isNotEmpty(target);
  return true;
}

function isNotEmpty(target: string): MendError {
  return new MendError(
    `${JSON.stringify(printable(target))} is not empty, and an export replaces nothing: name an empty or a new folder`,
  );
}

function explain(error: unknown, target: string): unknown {
  if (!isSystemError(error)) return error;
  const shown = JSON.stringify(printable(target));
  const say = (sentence: string): MendError => new MendError(sentence, { cause: error });
  if (['ENOSPC', 'EDQUOT'].includes(error.code ?? ''))
    return say(`there is no room for the export at ${shown}: make room or name another target`);
  if (['EACCES', 'EPERM', 'EROFS'].includes(error.code ?? ''))
    return say(`the export cannot be written at ${shown}: name a target in a folder of yours`);
  if (['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(error.code ?? ''))
    return say(`something else came to be at ${shown} meanwhile: name another target`);
  return say(`the export cannot be written at ${shown} (${error.code}): name another target`);
}
