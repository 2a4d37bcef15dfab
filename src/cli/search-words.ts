import { usageError } from '../errors.js';

/** One thing that is looked for: a word, a phrase, or the beginning of a word. */
export interface SearchWord {
  /** As it was asked for, without quotes and the `*` of a prefix. */
  readonly text: string;
  readonly prefix: boolean;
  /**
   * The same as a query of SQLite's full text search. Undefined where that has no words for it: signs, emoji, and
   * scripts that are written without blanks.
   */
  readonly query: string | undefined;
  /** True where the letters alone are not enough, as in `c++`: the text has to stand there as it was asked for. */
  readonly literal: boolean;
}

/** What makes a word to SQLite's tokenizer `unicode61`. */
const WORD = /[\p{L}\p{N}\p{Co}]/u;
/** Scripts without blanks between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Hangul}]/u;
/** Everything but words, blanks and apostrophes, which are typed in several ways. */
const SIGN = /[^\p{L}\p{N}\p{Co}\p{M}\s'’ʼ]/u;
const BLANKS = /\s+/u;

/**
 * Reads the words of a search. An argument with blanks in it is a phrase, as the shell has taken its quotes away;
 * within one, quotes make phrases and the rest is words. A trailing `*` stands for any end of the word.
 * @throws {MendError} (usage) when nothing is left to look for.
 */
export function parseSearchWords(args: readonly string[]): SearchWord[] {
  const words = args.flatMap(phrasesOf).flatMap((text) => searchWord(text) ?? []);
  const distinct = new Map(words.map((word) => [JSON.stringify([word.text, word.prefix]), word]));
  if (distinct.size === 0) throw usageError('there is nothing to search for: name a word');
  return [...distinct.values()];
}

function phrasesOf(arg: string): string[] {
  const parts = arg.split('"');
  // A quote without its counterpart is a sign like any other.
  if (parts.length % 2 === 0 || parts.length === 1) return [arg];
  return parts.flatMap((part, index) => (index % 2 === 1 ? [part] : part.split(BLANKS)));
}

function searchWord(given: string): SearchWord | undefined {
  const trimmed = given.trim();
  const prefix = /[^*\s]\*$/u.test(trimmed);
  const text = prefix ? trimmed.slice(0, -1) : trimmed;
  if (text === '') return undefined;
  const searchable = WORD.test(text) && !UNSPACED.test(text);
  // Within quotes nothing but a quote means anything to the query language.
  const query = searchable ? `"${text.replaceAll('"', '""')}"${prefix ? ' *' : ''}` : undefined;
  return { text, prefix, query, literal: query === undefined || SIGN.test(text) };
}
