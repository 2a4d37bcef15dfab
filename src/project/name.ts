import { basename, dirname } from 'node:path';
import type { NameChoices } from '../store/projects.js';
import { printable } from './printable.js';
import type { Repository } from './repository.js';

/** Bytes that a name given by a person may have. */
const LONGEST = 200;

/** Control characters, line separators, and what turns the direction of writing. */
const UNSEEN = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** Why a text cannot be the name of a project, as the end of a sentence that begins with the name; undefined when it can. */
export function nameFault(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (UNSEEN.test(name)) return 'has control characters';
  if (/^[\s/]|[\s/]$/u.test(name)) return 'begins or ends with a blank or a slash';
  if (Buffer.byteLength(name) > LONGEST) return `is longer than ${LONGEST} bytes`;
  return undefined;
}

/** `name`, then `owner/name`: of the remote where there is one, of the folder otherwise. */
export function nameChoices(repository: Repository): NameChoices {
  const path = repository.origin?.value ?? repository.root;
  const name = nameOf(basename(path)) || 'root';
  const parent = dirname(path);
  // The first segment of a remote on a host is the host, which owns nothing.
  const owned = path.startsWith('/') ? parent !== '/' : parent.includes('/');
  return owned ? [name, `${nameOf(basename(parent))}/${name}`] : [name];
}

function nameOf(segment: string): string {
  return printable(segment).replace(/(?<=.)\.git$/, '');
}
