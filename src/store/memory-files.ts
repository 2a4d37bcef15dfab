import { pathFault } from '../ports/limits.js';
import type { Merge, NodeRow, VersionKind } from '../ports/store.js';
import type { Store } from './store.js';

/** A file of memory with its path. */
export interface MemoryFile {
  readonly path: string;
  readonly row: NodeRow;
  /** Content id of its head. */
  readonly content: number;
}

/** How a file is put into memory. Times are µs since the epoch. */
export interface PutOptions {
  readonly kind: VersionKind;
  /** Row id of the session, 0 when none. */
  readonly session: number;
  /** Kept when the file is new; a changed file gets a time later than all that were shown. */
  readonly mtime?: number;
  /** Row id of the machine that it came from; this one when undefined. */
  readonly machine?: number;
  /** Of a merged content. */
  readonly merge?: Merge;
}

/** The files of one tree by path, for commands and imports; every change goes through the store's one way to write. */
export class MemoryFiles {
  readonly #store: Store;
  readonly #tree: number;
  readonly #root: number;

  constructor(store: Store, tree: { readonly id: number; readonly root: number }) {
    this.#store = store;
    this.#tree = tree.id;
    this.#root = tree.root;
  }

  /** Every saved file, by path. */
  list(): MemoryFile[] {
    const paths = new Map<number, string>([[this.#root, '']]);
    const files: MemoryFile[] = [];
    for (const row of this.#store.nodes.walk(this.#root, 0)) {
      if (row.parent === null || row.name === null) continue;
      const parent = paths.get(row.parent);
      const path = parent ? `${parent}/${row.name}` : row.name;
      if (row.kind === 'directory') paths.set(row.id, path);
      else if (row.content !== null) files.push({ path, row, content: row.content });
    }
    return files.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  }

  find(path: string): MemoryFile | undefined {
    if (pathFault(path)) return undefined;
    const row = this.#walk(path);
    return row?.kind === 'file' && row.content !== null ? { path, row, content: row.content } : undefined;
  }

  /** Makes bytes the head of a path; returns the content id. For use within `store.write`. */
  put(path: string, bytes: Buffer, options: PutOptions): number {
    const store = this.#store;
    const content = store.putContent(bytes);
    const { now } = store;
    const known = this.#walk(path);
    if (known?.kind === 'directory') throw Object.assign(new Error('a folder is in the way'), { code: 'EISDIR' });
    if (known) {
      if (known.content === content) return content;
      const shown = Math.floor(Math.max(known.shown, known.mtime) / 1000);
      const mtime = Math.floor(now / 1000) > shown ? now : (shown + 1) * 1000;
      const row = { ...known, content, size: bytes.length, mtime, ctime: now, shown: mtime };
      store.updateNode(row);
      this.#record(row.id, path, content, options);
      return content;
    }
    const slash = path.lastIndexOf('/');
    const parent = this.#ensureDirectory(path.slice(0, Math.max(0, slash)));
    const mtime = options.mtime ?? now;
    const row: NodeRow = {
      ...{ id: store.newId(), tree: this.#tree, mount: 0, parent, name: path.slice(slash + 1), kind: 'file' },
      ...{ content, size: bytes.length, mtime, atime: now, ctime: now, shown: mtime },
    };
    store.insertNode(row);
    this.#record(row.id, path, content, options);
    return content;
  }

  #record(node: number, path: string, content: number, { kind, session, machine, merge }: PutOptions): void {
    this.#store.addVersion({ tree: this.#tree, path, content, kind, session, machine, merge });
    this.#store.recordChange(this.#tree, node);
  }

  /** Removes a file; what it held stays as a version. For use within `store.write`. */
  remove(file: MemoryFile, session: number): void {
    this.#store.removeHead(file.row, file.path, session);
  }

  #walk(path: string): NodeRow | undefined {
    let row: NodeRow | undefined;
    for (const name of path.split('/')) {
      row = this.#store.nodes.child(row?.id ?? this.#root, name);
      if (!row) return undefined;
    }
    return row;
  }

  #ensureDirectory(path: string): number {
    let at = this.#root;
    for (const name of path === '' ? [] : path.split('/')) {
      const known = this.#store.nodes.child(at, name);
      if (known?.kind === 'file') throw Object.assign(new Error('a file is in the way'), { code: 'ENOTDIR' });
      at = known?.id ?? this.#addDirectory(at, name);
    }
    return at;
  }

  #addDirectory(parent: number, name: string): number {
    const store = this.#store;
    const { now } = store;
    const id = store.newId();
    const fixed = { content: null, size: 0, mtime: now, atime: now, ctime: now, shown: 0 };
    store.insertNode({ id, tree: this.#tree, mount: 0, parent, name, kind: 'directory', ...fixed });
    store.recordChange(this.#tree, id);
    return id;
  }
}
