import { hash } from 'node:crypto';
import { basename } from 'node:path';

/** Characters of a folder's name that stay in a slug. */
const LONGEST = 64;
/** Stands for a name of which nothing stays. */
const NAMELESS = 'project';
/** Hexadecimal digits of the hash in a slug. */
const DIGITS = 12;

/**
 * The folder name of the project-memory convention: the sanitised name of the project's folder, `-`, and the first twelve
 * lower-case hexadecimal digits of the SHA-256 of its canonical path in UTF-8. The convention leaves open how a name is
 * sanitised, so mend decides: letters, digits, `.`, `_` and `-` of ASCII stay as they are, any run of others becomes one
 * `-`, none stands at either end, nor a dot in front, and the first 64 characters are kept.
 */
export function projectSlug(path: string): string {
  const name = basename(path)
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, LONGEST)
    .replace(/-+$/, '');
  return `${name || NAMELESS}-${pathDigits(path)}`;
}

/** Every name that the folder of a path may have, however its own name was sanitised: only the digits tell paths apart. */
export function slugsOf(path: string): RegExp {
  return new RegExp(`^[^/]*-${pathDigits(path)}$`);
}

function pathDigits(path: string): string {
  return hash('sha256', path, 'hex').slice(0, DIGITS);
}
