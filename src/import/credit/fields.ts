import { normalize } from 'node:path';
import { MendError } from '../../errors.js';
import { printable } from '../../project/printable.js';

/** Most UTF-16 units that an id or name may have. */
const LONGEST = 200;

/**
 * One value of a JSON document, with the place where it stands (RFC 6901). Whatever is not as it has to be is refused
 * with a sentence that names the place and says what to do.
 */
export class Field {
  readonly #value: unknown;
  readonly #at: string;

  constructor(value: unknown, at = '') {
    this.#value = value;
    this.#at = at;
  }

  /** The error for this place. @param what goes on after it, as a sentence without its end */
  fault(what: string): MendError {
    return new MendError(`${this.#at === '' ? 'the document' : shown(this.#at)} ${what}`);
  }

  get isThere(): boolean {
    return this.#value !== undefined;
  }

  get isNull(): boolean {
    return this.#value === null || this.#value === undefined;
  }

  /** The values of an object that may have these keys, and no others. */
  object<K extends string>(...keys: readonly K[]): Record<K, Field> {
    const value = this.#value;
    if (!isObject(value))
      throw this.fault(`must be an object with ${keys.map((key) => `"${key}"`).join(', ')}: correct it`);
    const strange = Object.keys(value).find((key) => !keys.includes(key as K));
    if (strange !== undefined)
      throw new Field(undefined, this.#below(strange)).fault(
        `is not known: remove it, there are ${keys.map((key) => `"${key}"`).join(', ')}`,
      );
    const own = (key: K): unknown => (Object.hasOwn(value, key) ? value[key] : undefined);
    return Object.fromEntries(keys.map((key) => [key, new Field(own(key), this.#below(key))])) as Record<K, Field>;
  }

  list(): Field[] {
    if (!Array.isArray(this.#value)) throw this.fault('must be a list: correct it');
    return this.#value.map((value: unknown, index) => new Field(value, this.#below(String(index))));
  }

  /** A text that names something: no blanks around it, and nothing that a terminal would obey. */
  id(): string {
    const text = this.text();
    if (text.trim() !== text || text === '' || text.length > LONGEST || UNSEEN.test(text))
      throw this.fault(`must be a name of 1 to ${LONGEST} visible characters without blanks around it: give another`);
    return text;
  }

  text(): string {
    if (typeof this.#value === 'string') return this.#value;
    throw this.fault(this.isThere ? 'must be a text: put it in quotes' : 'is missing: add it, it is a text');
  }

  absolutePath(): string {
    const text = this.text();
    if (!text.startsWith('/') || text.includes('\0')) throw this.fault('must be an absolute path: give the whole path');
    if (text.split('/').includes('..')) throw this.fault('must be a path without "..": give the path that is meant');
    return normalize(text).replace(/(?<=.)\/$/, '');
  }

  flag(): boolean {
    if (typeof this.#value === 'boolean') return this.#value;
    throw this.fault(this.isThere ? 'must be true or false: correct it' : 'is missing: add true or false');
  }

  oneOf<T extends string | number>(...values: readonly T[]): T {
    const found = values.find((value) => value === this.#value);
    if (found !== undefined) return found;
    const choice = values.map((value) => JSON.stringify(value)).join(' or ');
    throw this.fault(this.isThere ? `must be ${choice}: correct it` : `is missing: add it, it is ${choice}`);
  }

  /** A time in ISO 8601 with its zone; ms since the epoch. */
  time(): number {
    const text = this.text();
    // Date.parse takes the last days of a month that has fewer for the first of the next.
    const time = TIME.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(time)) throw this.fault('must be a time such as "2026-01-31T09:30:00Z": correct it');
    return time;
  }

  /** A Linux user: a name, or a number. */
  user(): string {
    const value = this.#value;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 32 - 1) return String(value);
    if (typeof value === 'string' && USER.test(value)) return value;
    throw this.fault('must be the name or number of a Linux user, or null: correct it');
  }

  #below(key: string): string {
    return `${this.#at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
}

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;
/** useradd(8), and the dots and capitals that directories of larger places have. A name of digits alone is a number. */
const USER = /^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}\$?$/;

function isDay(day: string): boolean {
  const time = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A place for a message, cut where a hostile key would fill a screen. */
function shown(at: string): string {
  const text = printable(at);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
