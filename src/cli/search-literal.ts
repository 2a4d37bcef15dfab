import type { Span } from '../store/text-index.js';
import type { SearchWord } from './search-words.js';

const LETTER = /^[\p{L}\p{N}\p{Co}]$/u;

/**
 * Finds where a word stands in a text as it was asked for: without regard to case and diacritics, any blanks for
 * blanks. Where it begins or ends with a letter, no other letter may be beside it, unless its script has no blanks
 * between words.
 */
export function literalSpans(text: string, word: SearchWord): Span[] {
  const { folded, places } = foldWithPlaces(text);
  const wanted = fold(word.text).split(/\s+/u).map(escaped).join('\\s+');
  const [begin, end] = word.query === undefined ? ['', ''] : [edge(word.text, 0, '<'), edge(word.text, -1, '')];
  const pattern = new RegExp(`${begin}${wanted}${word.prefix ? '' : end}`, 'gu');
  const spans: Span[] = [];
  for (const match of folded.matchAll(pattern)) {
    const last = match.index + match[0].length - 1;
    spans.push({ from: places[match.index] ?? 0, to: endOf(text, places[last] ?? 0) });
  }
  return spans;
}

/** Forbids a letter before (`<`) or behind a word whose first or last character is one. */
function edge(text: string, at: number, side: '<' | ''): string {
  return LETTER.test([...text].at(at) ?? '') ? `(?${side}![\\p{L}\\p{N}\\p{Co}])` : '';
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, (sign) => `\\${sign}`);
}

/** Lower case without diacritics. */
function fold(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

/** A folded text, and for each unit of it where in the text it comes from. */
function foldWithPlaces(text: string): { folded: string; places: Uint32Array } {
  const pieces: string[] = [];
  const places: number[] = [];
  let at = 0;
  for (const character of text) {
    const piece = isPlain(character) ? character.toLowerCase() : fold(character);
    pieces.push(piece);
    for (let unit = 0; unit < piece.length; unit++) places.push(at);
    at += character.length;
  }
  return { folded: pieces.join(''), places: Uint32Array.from(places) };
}

function isPlain(character: string): boolean {
  return character.charCodeAt(0) < 0x80;
}

/** The end of the character that begins at a place, with the marks that go with it. */
function endOf(text: string, at: number): number {
  let end = at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
  while (end < text.length && /^\p{M}$/u.test(text[end] ?? '')) end++;
  return end;
}
