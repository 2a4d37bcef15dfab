import { posix } from 'node:path';
import type { MemoryIndex } from '../harness/adapter.js';
import { type TextLink, textLinks } from './index-links.js';

/** What is wrong with the file that names the others. */
export interface IndexWarnings {
  /** How many of its lines are loaded whole; undefined when all of it is. */
  readonly loaded: { readonly lines: number; readonly of: number } | undefined;
  /** Links to files that there are not. */
  readonly dangling: readonly TextLink[];
  /** Notes that it does not name. */
  readonly missing: readonly string[];
}

/**
 * Compares an index with the files beside it. Pure.
 *
 * A link counts as one to a file when it is relative and leads to a place in the memory folder, whatever follows a `#`
 * or `?`. A note counts as named when a link leads to it or to a folder around it, or when its name stands anywhere
 * else: real indexes name notes in code spans and as `[[name]]`, too. Such a name without a file is no fault.
 * @param paths all files of the tree
 */
export function indexWarnings(index: MemoryIndex, text: string, paths: readonly string[]): IndexWarnings {
  const normal = text.normalize('NFC');
  const places = new Set(paths.flatMap((path) => withFolders(path.normalize('NFC'))));
  const named = new Set<string>();
  const dangling = textLinks(text).filter(({ target }) => {
    const candidates = placesOf(target.normalize('NFC'));
    const found = candidates.filter((place) => places.has(place));
    for (const place of found) named.add(place);
    return candidates.length > 0 && found.length === 0;
  });
  const missing = paths.filter((path) => {
    if (path === index.file || !index.isNote(path) || hasOwnIndex(index, path, places)) return false;
    const place = path.normalize('NFC');
    return !withFolders(place).some((one) => named.has(one)) && !mentions(normal, place);
  });
  return { loaded: loadedPart(index, text), dangling, missing };
}

/** A path and every folder that it lies in. */
function withFolders(path: string): string[] {
  const names = path.split('/');
  return names.map((_, i) => names.slice(0, i + 1).join('/'));
}

/** Whether a note lies in a folder that has an index of its own. */
function hasOwnIndex(index: MemoryIndex, path: string, places: ReadonlySet<string>): boolean {
  const folders = withFolders(path.normalize('NFC')).slice(0, -1);
  return folders.some((folder) => places.has(`${folder}/${index.file}`));
}

/** The places in the folder that a target may mean, best first; none when it leads elsewhere. */
function placesOf(target: string): string[] {
  if (/^(?:$|[#?/~]|[a-z][a-z\d+.-]*:)/i.test(target)) return [];
  const texts = [target, target.replace(/#.*/s, ''), target.replace(/[?#].*/s, '')];
  const places = [...texts, ...texts.map(decoded)].map((text) => posix.normalize(text).replace(/\/$/, ''));
  return [...new Set(places)].filter((place) => place !== '.' && place !== '..' && !place.startsWith('../'));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text).normalize('NFC');
  } catch {
    return text;
  }
}

/** Whether a text names a file: by its path, by its name alone, or as `[[name]]` without the ending. */
function mentions(text: string, path: string): boolean {
  const name = posix.basename(path);
  const stem = name.replace(/\.[^.]*$/, '');
  if (['', '|', '#'].some((end) => text.includes(`[[${stem}${end === '' ? ']]' : end}`))) return true;
  return standsAlone(text, path, /[\p{L}\p{N}_/-]/u) || standsAlone(text, name, /[\p{L}\p{N}_/-]/u);
}

/** Whether a text has a word with none of some signs before it, and no letter behind. */
function standsAlone(text: string, word: string, before: RegExp): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const [left, right] = [text.slice(0, at).slice(-1), text.slice(at + word.length, at + word.length + 1)];
    const fromHere = text.slice(Math.max(0, at - 2), at) === './' && !/[\w./]/.test(text.slice(0, at).slice(-3, -2));
    if ((!before.test(left) || fromHere) && !/[\p{L}\p{N}_]/u.test(right)) return true;
  }
  return false;
}

/** Cuts as Claude Code does: first by lines, then at the end of a line within the number of characters. */
function loadedPart(index: MemoryIndex, text: string): IndexWarnings['loaded'] {
  const lead = /^\s*/.exec(text)?.[0].split('\n').length ?? 1;
  const lines = text.trim().split('\n');
  const first = lines.slice(0, index.lines);
  let [length, whole] = [-1, 0];
  for (const line of first) {
    length += line.length + 1;
    if (length <= index.characters) whole++;
  }
  if (whole === lines.length) return undefined;
  return { lines: whole + lead - 1, of: lines.length + lead - 1 };
}
