import type { Part } from './assemble.js';
import { byId, placeNew, sameNode } from './frontmatter-order.js';
import type { Block, Entry, Leaf, Node } from './frontmatter-tree.js';
import type { MergeOptions } from './merge-sides.js';
import { sameValue } from './scalar.js';

type Side = 'store' | 'other';

/** What became of the lines between the fences. */
export interface MergedKeys {
  readonly parts: Part[];
  /** False when both sides changed one key. */
  readonly clean: boolean;
  /**
   * Places of lines that are not there as they were written, for a reason: the key is the harness's, the same value
   * stands there in other quotes or at another indent, or the line stands there as a comment.
   */
  readonly settled: Readonly<Record<Side, number[]>>;
}

/** The nodes of one name in the three texts. */
interface Three<T> {
  readonly base: T | undefined;
  readonly store: T | undefined;
  readonly other: T | undefined;
}

const empty: Block = { kind: 'map', indent: 0, nodes: [] };

/**
 * Merges frontmatter key by key (spec §6.3). The order is the store's; what only the other side has comes after what
 * it follows there. Null where there is no base, or where a side has no frontmatter.
 */
export function mergeKeys(base: Block | null, store: Block | null, other: Block | null, options: MergeOptions) {
  const merger = new KeyMerger(options);
  merger.block(base, store ?? empty, other ?? empty, '', (store ?? other ?? empty).indent);
  return merger as MergedKeys;
}

class KeyMerger implements MergedKeys {
  readonly parts: Part[] = [];
  readonly settled: Record<Side, number[]> = { store: [], other: [] };
  clean = true;
  readonly #options: MergeOptions;

  constructor(options: MergeOptions) {
    this.#options = options;
  }

  /** Merges two mappings or two lists and writes the result at an indent. */
  block(base: Block | null | undefined, store: Block, other: Block, path: string, indent: number): void {
    const [before, ours, theirs] = [byId(base), byId(store), byId(other)];
    const told = new Set(store.nodes.filter(isNote).map(({ raw }) => toldBy(raw)));
    const late = placeNew(store, other, before);
    const add = (node: Node) => {
      const three = { base: before.get(node.id), store: ours.get(node.id), other: theirs.get(node.id) };
      if (node.kind === 'entry') this.#entry(three as Three<Entry>, path, indent, told);
      else this.#leaf(three as Three<Leaf>, indent, indent - other.indent, told);
    };
    for (const node of late.get(-1) ?? []) add(node);
    store.nodes.forEach((node, index) => {
      add(node);
      for (const more of late.get(index) ?? []) add(more);
    });
  }

  /** An item, a comment or a blank line: there when a side added it or neither removed it. */
  #leaf({ base, store, other }: Three<Leaf>, indent: number, shift: number, told: Set<string>): void {
    if (store !== undefined && other !== undefined) {
      const takesOther = base !== undefined && store.raw === base.raw;
      this.#write(takesOther ? 'other' : 'store', takesOther ? other : store, store.indent);
      if (store.raw !== other.raw) this.#settle(takesOther ? 'store' : 'other', takesOther ? store : other);
    } else if (base !== undefined) this.#settle(store === undefined ? 'other' : 'store', store ?? other ?? base);
    else if (store !== undefined) this.#write('store', store, store.indent);
    else if (other !== undefined) {
      if (other.kind === 'note' && told.has(toldBy(other.raw))) this.#settle('other', other);
      else this.#write('other', other, other.kind === 'item' ? indent : Math.max(0, other.indent + shift));
    }
  }

  #entry(three: Three<Entry>, parent: string, indent: number, told: Set<string>): void {
    const { base, store, other } = three;
    const node = store ?? other;
    if (node === undefined) return;
    const path = `${parent}${node.id.slice(2)}`;
    if (store === undefined || other === undefined) {
      this.#lonely(store === undefined ? 'other' : 'store', node, base, path, indent);
      return;
    }
    const kinds = new Set(
      [store, other].map(({ block, value }) => block?.kind ?? (value === '' ? 'nothing' : 'value')),
    );
    kinds.delete('nothing');
    if (kinds.size === 2) this.#unlike(base, store, other, path, indent, told);
    else if (kinds.has('map') || kinds.has('list')) {
      this.#head(base, store, other, path, indent, told);
      const block = store.block ?? other.block ?? empty;
      const shift = indent - (store.block === undefined ? other.indent : store.indent);
      const before = base?.block?.kind === block.kind ? base.block : null;
      this.block(before, store.block ?? empty, other.block ?? empty, `${path}.`, block.indent + shift);
    } else this.#head(base, store, other, path, indent, told);
  }

  /** A key that one side has alone: new, or removed by the other side. */
  #lonely(side: Side, node: Entry, base: Entry | undefined, path: string, indent: number): void {
    if (base === undefined) this.#writeAll(side, node, indent);
    else if (sameNode(base, node)) this.#settleAll(side, node);
    else if (base.block?.kind === 'map' && node.block?.kind === 'map') {
      // Of a mapping that the other side removed, what this side changed stays.
      this.clean = false;
      this.#write(side, node, indent);
      const start = this.parts.length;
      const shift = indent - node.indent;
      const [store, other] = side === 'store' ? [node.block, empty] : [empty, node.block];
      this.block(base.block, store, other, `${path}.`, node.block.indent + shift);
      if (this.parts.length === start) this.parts.pop();
    } else {
      this.clean = false;
      this.#writeAll(side, node, indent);
    }
  }

  /** Values of different kinds, like a text against a list: one stays whole. */
  #unlike(base: Entry | undefined, store: Entry, other: Entry, path: string, indent: number, told: Set<string>): void {
    const maintained = this.#isMaintained(path);
    const storeSame = base !== undefined && sameNode(base, store);
    if (storeSame || (maintained && this.#options.newer === 'other')) {
      this.#writeAll('other', other, indent);
      this.#settleAll('store', store);
      return;
    }
    this.#writeAll('store', store, indent);
    this.#settleAll('other', other);
    if (maintained || (base !== undefined && sameNode(base, other))) return;
    this.clean = false;
    for (const line of linesOf(other)) this.#comment(line, indent, told);
  }

  /** The line of a key that both sides have. */
  #head(base: Entry | undefined, store: Entry, other: Entry, path: string, indent: number, told: Set<string>): void {
    const take = (side: Side) => {
      this.#write(side, side === 'store' ? store : other, indent);
      if (store.raw !== other.raw) this.#settle(side === 'store' ? 'other' : 'store', side === 'store' ? other : store);
    };
    const isNew = (node: Entry) => base === undefined || !sameValue(base.value, node.value);
    if (store.raw === other.raw || base?.raw === other.raw) take('store');
    else if (base?.raw === store.raw) take('other');
    else if (sameValue(store.value, other.value) || !isNew(other)) take('store');
    else if (!isNew(store)) take('other');
    else if (this.#isMaintained(path)) take(this.#options.newer);
    else {
      this.clean = false;
      take(store.value === '' ? 'other' : 'store');
      if (store.value !== '' && other.value !== '') this.#comment(other.raw, indent, told);
    }
  }

  #isMaintained(path: string): boolean {
    return this.#options.maintained.includes(path);
  }

  /** Keeps a line of the other side as a comment, unless one says so already. */
  #comment(line: string, indent: number, told: Set<string>): void {
    const text = line.trimEnd();
    if (told.has(text)) return;
    told.add(text);
    const { host, date } = this.#options.from;
    const from = Buffer.from(`${oneWord(host)}, ${oneWord(date)}`).toString('latin1');
    this.parts.push({ line: `${' '.repeat(indent)}# from ${from}: ${text}` });
  }

  #write(side: Side, node: Node, indent: number): void {
    if (node.indent === indent) this.parts.push({ side, from: node.at, to: node.at + 1 });
    else {
      this.parts.push({ line: ' '.repeat(indent) + node.raw });
      this.#settle(side, node);
    }
  }

  #writeAll(side: Side, node: Node, indent: number): void {
    this.#write(side, node, indent);
    if (node.kind !== 'entry') return;
    for (const child of node.block?.nodes ?? []) this.#writeAll(side, child, child.indent + indent - node.indent);
  }

  #settle(side: Side, node: Node): void {
    this.settled[side].push(node.at);
  }

  #settleAll(side: Side, node: Node): void {
    this.#settle(side, node);
    if (node.kind === 'entry') for (const child of node.block?.nodes ?? []) this.#settleAll(side, child);
  }
}

function isNote(node: Node): boolean {
  return node.kind === 'note';
}

/** The line that a comment of a merge keeps. Any other comment stands for itself. */
function toldBy(raw: string): string {
  const colon = raw.indexOf(': ');
  return raw.startsWith('# from ') && colon !== -1 ? raw.slice(colon + 2).trimEnd() : raw;
}

/** The lines of an entry and what stands under it, indented against the entry. */
function linesOf(entry: Entry): string[] {
  const lines = (node: Node): string[] => [
    ' '.repeat(Math.max(0, node.indent - entry.indent)) + node.raw,
    ...(node.kind === 'entry' ? (node.block?.nodes ?? []).flatMap(lines) : []),
  ];
  return lines(entry);
}

/** A name or time without what would end the comment or hide where it ends. */
function oneWord(text: string): string {
  return text.replace(/[\p{Cc}]+|: /gu, ' ');
}
