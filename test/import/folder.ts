import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { claude } from '../../src/harness/claude.js';
import { takeIn } from '../../src/import/take-in.js';
import { writeBack } from '../../src/import/write-back.js';
import type { Limits } from '../../src/ports/limits.js';
import { MemoryFiles } from '../../src/store/memory-files.js';
import type { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import { addTree, openStore } from '../store/fresh-store.js';

/** A memory folder on disk beside a store, with both directions between them. */
export class Exchange {
  readonly store: Store = openStore();
  readonly tree: TreeRow = addTree(this.store);
  readonly memory = new MemoryFiles(this.store, this.tree);
  folder = mkdtempSync(join(inject('runFolder'), 'memory-'));

  /** Puts a file into the folder. `age` is how many seconds ago it was changed. */
  lay(path: string, text: string | Buffer, options: { age?: number } = {}): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    if (options.age !== undefined) utimesSync(file, Date.now() / 1000 - options.age, Date.now() / 1000 - options.age);
  }

  /** Saves a file in memory, as a session does. */
  save(path: string, text: string | Buffer): void {
    this.store.write(() => this.memory.put(path, Buffer.from(text), { kind: 'saved', session: 0 }));
  }

  /** Has what the file holds as the choice of a person, as "mend memory restore" does. */
  choose(path: string): void {
    const file = this.memory.find(path);
    if (!file) throw new Error(`${path} is not in memory`);
    const version = { tree: this.tree.id, path, content: file.content, kind: 'restored', session: 0 } as const;
    this.store.write(() => this.store.addVersion(version));
  }

  remove(path: string): void {
    const file = this.memory.find(path);
    if (!file) throw new Error(`${path} is not in memory`);
    this.store.write(() => this.memory.remove(file, 0));
  }

  /** Takes the folder in; outcomes by path, with the reason of those that were skipped. */
  async takeIn(limits?: Limits): Promise<Record<string, string>> {
    const files = await takeIn(this.store, this.tree, this.folder, claude, limits);
    return Object.fromEntries(
      files.map(({ path, outcome, reason }) => [path, outcome === 'skipped' ? `skipped: ${reason}` : outcome]),
    );
  }

  writeBack(): ReturnType<typeof writeBack> {
    return writeBack(this.store, this.tree, this.folder);
  }

  /** Content of the head of a path. */
  head(path: string): string | undefined {
    return this.headBytes(path)?.toString();
  }

  headBytes(path: string): Buffer | undefined {
    const file = this.memory.find(path);
    return file && this.store.content(file.content);
  }

  /** Takes a file away from the folder, if it is there. */
  removeBelow(path: string): void {
    rmSync(join(this.folder, path), { force: true });
  }

  /** Kind and content of each version of a path, newest first. */
  history(path: string): string[] {
    return this.store.versions
      .of(this.tree.id, path)
      .map(({ kind, content }) => `${kind}: ${this.store.content(content)}`);
  }

  below(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  mode(path: string): number {
    return statSync(join(this.folder, path)).mode & 0o7777;
  }

  names(): string[] {
    return readdirSync(this.folder, { recursive: true, encoding: 'utf8' }).sort();
  }
}
