import type { PosixCase } from '../posix-case.js';
import { append } from './append.js';
import { content } from './content.js';
import { folders } from './folders.js';
import { links } from './links.js';
import { localFiles } from './local-files.js';
import { modes } from './modes.js';
import { names } from './names.js';
import { openFlags } from './open-flags.js';
import { refusals } from './refusals.js';
import { renameFiles } from './rename-files.js';
import { renameFolders } from './rename-folders.js';
import { space } from './space.js';
import { times } from './times.js';
import { tools } from './tools.js';
import { truncate } from './truncate.js';
import { unlink } from './unlink.js';

/** Every case written for Node.js, in the order they run. Names are unique. */
export const allCases: PosixCase[] = [
  ...openFlags,
  ...content,
  ...append,
  ...truncate,
  ...renameFiles,
  ...renameFolders,
  ...unlink,
  ...folders,
  ...times,
  ...modes,
  ...names,
  ...refusals,
  ...links,
  ...localFiles,
  ...tools,
  ...space,
];
