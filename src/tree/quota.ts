import type { Limits } from '../ports/limits.js';

/** What a project holds across its trees, against its limits. */
export interface Usage {
  files: number;
  directories: number;
  bytes: number;
}

/** Counts what a project uses: heads, and what open drafts would add to them. */
export class Quota {
  readonly limits: Limits;
  readonly #measure: () => Usage;
  #usage: Usage;
  /** Bytes by which drafts are longer than the heads they would replace. */
  #pending = 0;
  /** The last name that was refused, for `mend status`. */
  refused: string | undefined;

  /** @param measure counts what the store holds now */
  constructor(limits: Limits, measure: () => Usage) {
    this.limits = limits;
    this.#measure = measure;
    this.#usage = measure();
  }

  get files(): number {
    return this.#usage.files;
  }

  get bytes(): number {
    return this.#usage.bytes;
  }

  /** Bytes that are used or spoken for. */
  get claimed(): number {
    return this.#usage.bytes + this.#pending;
  }

  /** Counts again, after somebody else changed the store. */
  refresh(): void {
    this.#usage = this.#measure();
  }

  allowsFile(): boolean {
    return this.#usage.files < this.limits.files;
  }

  allowsDirectory(): boolean {
    return this.#usage.directories < this.limits.files;
  }

  allowsBytes(more: number): boolean {
    return more <= 0 || this.claimed + more <= this.limits.bytes;
  }

  addFile(count: number, bytes: number): void {
    this.#usage.files += count;
    this.#usage.bytes += bytes;
  }

  addDirectory(count: number): void {
    this.#usage.directories += count;
  }

  claim(bytes: number): void {
    this.#pending += bytes;
  }
}
