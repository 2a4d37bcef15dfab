import { closeSync, constants, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { isSystemError } from '../errors.js';
import { describeError, log } from '../log.js';
import type { Journal } from '../ports/journal.js';
import { openOwn } from './own-file.js';

/** Bytes beyond twice what is current from which on the file is written anew. */
const SLACK = 2 * 1024 * 1024;

/**
 * A journal in a file. Each line is a list of `[key, value]`, or `[key]` for what is gone; the last of a key counts. What is
 * noted together is one line, which counts as a whole or, where a death cut it short, not at all. It is written with write(2)
 * and never flushed, since it is of no use after a crash of the machine.
 */
export class JournalFile implements Journal {
  readonly #path: string;
  /** What stands under each key, as JSON. */
  readonly #current = new Map<string, string>();
  /** What was noted since the last flush. */
  readonly #noted = new Map<string, (() => unknown) | undefined>();
  readonly #bytes = Buffer.alloc(64 * 1024);
  #fd: number;
  /** Bytes of the file, and of the lines in it that count. */
  #written = 0;
  #size = 0;
  #isBroken = false;
  /** Something was noted that cannot wait. */
  #isUrgent = false;

  /** @param takesOver whether to go on with what an earlier process left there */
  constructor(path: string, takesOver: boolean) {
    this.#path = path;
    if (takesOver) this.#read();
    this.#fd = this.#begin(takesOver);
  }

  note(key: string, value: (() => unknown) | undefined, canWait = false): void {
    if (!value && !this.#current.has(key)) {
      // Nobody has heard of it.
      this.#noted.delete(key);
      return;
    }
    this.#noted.set(key, value);
    if (!canWait || !value) this.#isUrgent = true;
  }

  flush(everything = false): void {
    if (this.#noted.size === 0 || !(this.#isUrgent || everything)) return;
    this.#isUrgent = false;
    const entries: string[] = [];
    for (const [key, value] of this.#noted) {
      const entry = this.#take(key, value);
      if (entry !== undefined) entries.push(entry);
    }
    this.#noted.clear();
    if (entries.length === 0) return;
    try {
      const bytes = this.#encode(`[${entries.join()}]\n`);
      if (this.#isBroken || this.#written + bytes.length > 2 * this.#size + SLACK) {
        const old = this.#fd;
        this.#fd = this.#rewrite();
        closeSync(old);
        this.#isBroken = false;
        return;
      }
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done);
      this.#written += bytes.length;
    } catch (error) {
      // A line may be there in part: the next time everything is written anew.
      if (!this.#isBroken) log('error', 'cannot write the journal of open files', { error: describeError(error) });
      this.#isBroken = true;
    }
  }

  left(prefix: string): Map<string, unknown> {
    const found = new Map<string, unknown>();
    for (const [key, value] of this.#current)
      if (key.startsWith(prefix)) found.set(key.slice(prefix.length), JSON.parse(value));
    return found;
  }

  get(key: string): unknown {
    const value = this.#current.get(key);
    return value === undefined ? undefined : JSON.parse(value);
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Bytes of some lines; good until the next call. */
  #encode(lines: string): Buffer {
    if (lines.length * 3 > this.#bytes.length) return Buffer.from(lines);
    return this.#bytes.subarray(0, this.#bytes.write(lines));
  }

  /** Takes a note over, and gives back its entry; undefined when nothing changed. */
  #take(key: string, value: (() => unknown) | undefined): string | undefined {
    const before = this.#current.get(key);
    if (before !== undefined) this.#size -= key.length + before.length;
    if (!value) {
      this.#current.delete(key);
      return before === undefined ? undefined : JSON.stringify([key]);
    }
    const text = JSON.stringify(value());
    this.#current.set(key, text);
    this.#size += key.length + text.length;
    return text === before ? undefined : `[${JSON.stringify(key)},${text}]`;
  }

  #read(): void {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if (isSystemError(error, 'ENOENT')) return;
      throw error;
    }
    for (const line of text.split('\n')) {
      for (const entry of parse(line)) this.#take(entry[0], entry.length === 1 ? undefined : () => entry[1]);
    }
  }

  /** A new file; where there is no room for one, the old one goes on for now. */
  #begin(takesOver: boolean): number {
    try {
      return this.#rewrite();
    } catch (error) {
      if (!takesOver || !isSystemError(error, 'ENOSPC', 'EDQUOT')) throw error;
      log('warn', 'no room for the journal of open files', { error: describeError(error) });
      this.#isBroken = true;
      return openOwn(this.#path, constants.O_WRONLY | constants.O_APPEND);
    }
  }

  /** Writes a new file of what counts, and gives back its descriptor, for appending. */
  #rewrite(): number {
    const fresh = `${this.#path}.new`;
    const fd = openOwn(fresh, constants.O_WRONLY | constants.O_TRUNC);
    let lines = '';
    for (const [key, text] of this.#current) lines += `[[${JSON.stringify(key)},${text}]]\n`;
    const bytes = Buffer.from(lines);
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
      renameSync(fresh, this.#path);
    } catch (error) {
      closeSync(fd);
      rmSync(fresh, { force: true });
      throw error;
    }
    this.#written = bytes.length;
    return fd;
  }
}

/** The entries of a line; none for one that a death cut short. */
function parse(line: string): readonly [string, unknown?][] {
  if (line === '') return [];
  try {
    return JSON.parse(line) as [string, unknown?][];
  } catch {
    return [];
  }
}
