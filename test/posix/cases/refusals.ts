import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type PosixCase, put, refuses, text } from '../posix-case.js';

interface Row {
  code: string;
  what: string;
  /** `at` gives a path in a folder that holds the file `file`, the folder `folder` and `folder/inner`. */
  call(at: (name: string) => string): unknown;
}

const ROWS: Row[] = [
  { code: 'ENOENT', what: 'open of a missing file', call: (at) => fs.openSync(at('none'), 'r') },
  { code: 'ENOENT', what: 'open for writing without O_CREAT', call: (at) => fs.openSync(at('none'), 'r+') },
  { code: 'ENOENT', what: 'create in a missing folder', call: (at) => fs.openSync(at('none/a'), 'w') },
  { code: 'ENOENT', what: 'stat of a missing file', call: (at) => fs.statSync(at('none')) },
  { code: 'ENOENT', what: 'lstat below a missing folder', call: (at) => fs.lstatSync(at('none/a')) },
  { code: 'ENOENT', what: 'unlink of a missing file', call: (at) => fs.unlinkSync(at('none')) },
  { code: 'ENOENT', what: 'rmdir of a missing folder', call: (at) => fs.rmdirSync(at('none')) },
  { code: 'ENOENT', what: 'mkdir in a missing folder', call: (at) => fs.mkdirSync(at('none/d')) },
  { code: 'ENOENT', what: 'list of a missing folder', call: (at) => fs.readdirSync(at('none')) },
  { code: 'ENOENT', what: 'chmod of a missing file', call: (at) => fs.chmodSync(at('none'), 0o600) },
  { code: 'ENOENT', what: 'utimes of a missing file', call: (at) => fs.utimesSync(at('none'), 1, 1) },
  { code: 'ENOENT', what: 'truncate of a missing file', call: (at) => fs.truncateSync(at('none'), 1) },
  { code: 'ENOENT', what: 'chdir to a missing folder', call: (at) => process.chdir(at('none')) },
  { code: 'ENOTDIR', what: 'open below a file', call: (at) => fs.openSync(at('file/a'), 'r') },
  { code: 'ENOTDIR', what: 'create below a file', call: (at) => fs.openSync(at('file/a'), 'w') },
  { code: 'ENOTDIR', what: 'stat below a file', call: (at) => fs.statSync(at('file/a')) },
  { code: 'ENOTDIR', what: 'stat of a file with a slash', call: (at) => fs.statSync(at('file/')) },
  { code: 'ENOTDIR', what: 'open of a file with a slash', call: (at) => fs.openSync(at('file/'), 'r') },
  { code: 'ENOTDIR', what: 'mkdir below a file', call: (at) => fs.mkdirSync(at('file/d')) },
  { code: 'ENOTDIR', what: 'rmdir of a file', call: (at) => fs.rmdirSync(at('file')) },
  { code: 'ENOTDIR', what: 'unlink below a file', call: (at) => fs.unlinkSync(at('file/a')) },
  { code: 'ENOTDIR', what: 'unlink of a file with a slash', call: (at) => fs.unlinkSync(at('file/')) },
  { code: 'ENOTDIR', what: 'list of a file', call: (at) => fs.readdirSync(at('file')) },
  { code: 'ENOTDIR', what: 'chdir to a file', call: (at) => process.chdir(at('file')) },
  { code: 'EISDIR', what: 'open of a folder for writing', call: (at) => fs.openSync(at('folder'), 'w') },
  { code: 'EISDIR', what: 'open of a folder for appending', call: (at) => fs.openSync(at('folder'), 'a') },
  { code: 'EISDIR', what: 'create with a slash', call: (at) => fs.openSync(at('new/'), 'w') },
  { code: 'EISDIR', what: 'read of a folder', call: (at) => fs.readFileSync(at('folder')) },
  { code: 'EISDIR', what: 'truncate of a folder', call: (at) => fs.truncateSync(at('folder'), 0) },
  { code: 'EISDIR', what: 'unlink of a folder', call: (at) => fs.unlinkSync(at('folder/inner')) },
  { code: 'EISDIR', what: 'rename of a file over a folder', call: (at) => fs.renameSync(at('file'), at('folder')) },
  { code: 'EEXIST', what: 'O_EXCL on a file', call: (at) => fs.openSync(at('file'), 'wx') },
  { code: 'EEXIST', what: 'O_EXCL on a folder', call: (at) => fs.openSync(at('folder'), 'wx') },
  { code: 'EEXIST', what: 'mkdir on a file', call: (at) => fs.mkdirSync(at('file')) },
  { code: 'EEXIST', what: 'mkdir on a folder', call: (at) => fs.mkdirSync(at('folder')) },
  { code: 'ENOTEMPTY', what: 'rmdir of a folder with entries', call: (at) => fs.rmdirSync(at('folder')) },
  { code: 'EINVAL', what: 'rmdir of .', call: (at) => fs.rmdirSync(`${at('folder')}/.`) },
  { code: 'EINVAL', what: 'rename into its own subtree', call: (at) => fs.renameSync(at('folder'), at('folder/a')) },
  { code: 'EINVAL', what: 'readlink of a file', call: (at) => fs.readlinkSync(at('file')) },
  { code: 'EINVAL', what: 'readlink of a folder', call: (at) => fs.readlinkSync(at('folder')) },
  { code: 'EPERM', what: 'hard link to a folder', call: (at) => fs.linkSync(at('folder'), at('link')) },
];

/** Every refusal with its errno, each followed by a look that nothing changed. */
export const refusals: PosixCase[] = ROWS.map(({ code, what, call }) => ({
  name: `${code}: ${what}`,
  run(dir) {
    const at = (name: string) => `${dir}/${name}`;
    put(dir, 'file', 'text');
    fs.mkdirSync(path.join(dir, 'folder', 'inner'), { recursive: true });
    refuses(code, () => call(at));
    assert.deepEqual(fs.readdirSync(dir).sort(), ['file', 'folder']);
    assert.deepEqual(fs.readdirSync(at('folder')), ['inner']);
    assert.equal(text(at('file')), 'text');
  },
}));
