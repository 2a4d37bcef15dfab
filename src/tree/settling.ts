import type { Attributes } from './attributes.js';
import { KEEP } from './kernel-cache.js';
import type { FileNode } from './node.js';

/** How long, in µs, a kernel may take to put an answer into its cache. */
const SETTLES = 10_000;

interface Told {
  readonly attr: Attributes;
  /** When these attributes were handed out first, in µs since the epoch; 0 when the kernel had nothing before. */
  readonly since: number;
}

/**
 * What one kernel was told of each file. A kernel takes attributes over field by field, validity first, and does not
 * hold up who asks meanwhile; so it gets new ones without validity until they must be in its cache.
 */
export class Settling {
  readonly #told = new WeakMap<FileNode, Told>();
  /** The kernel has attributes that an earlier process told it, nobody knows which. */
  inherited = false;

  /** For how many seconds a kernel may keep the attributes of a file. */
  validity(node: FileNode, attr: Attributes, now: number): number {
    const told = this.#told.get(node);
    if (told && isSame(told.attr, attr)) return now - told.since > SETTLES ? KEEP : 0;
    const isFirst = !told && !this.inherited;
    this.#told.set(node, { attr, since: isFirst ? 0 : now });
    return isFirst ? KEEP : 0;
  }
}

function isSame(a: Attributes, b: Attributes): boolean {
  return a.size === b.size && a.mtime === b.mtime && a.ctime === b.ctime && a.atime === b.atime && a.nlink === b.nlink;
}
