import type { Block, Entry, Node } from './frontmatter-tree.js';
import { sameValue } from './scalar.js';

/** The nodes of a block by their names. */
export function byId(block: Block | null | undefined): Map<string, Node> {
  return new Map(block?.nodes.map((node) => [node.id, node]));
}

/**
 * Finds where nodes that the store lacks go: behind the node that they follow in the other side, and behind what the
 * store itself added there. Keys of the result are indices of the store's nodes; -1 is before the first.
 */
export function placeNew(store: Block, other: Block, before: Map<string, Node>): Map<number, Node[]> {
  const theirs = byId(other);
  const places = new Map(store.nodes.map((node, index) => [node.id, index]));
  const ends: number[] = [];
  for (let index = store.nodes.length - 1; index >= -1; index--) {
    const next = store.nodes[index + 1];
    const goesOn = next !== undefined && !before.has(next.id) && !theirs.has(next.id);
    ends[index + 1] = goesOn ? (ends[index + 2] ?? index) : index;
  }
  const late = new Map<number, Node[]>();
  let last = -1;
  for (const node of other.nodes) {
    const place = places.get(node.id);
    if (place !== undefined) last = place;
    else {
      const at = ends[last + 1] ?? last;
      const nodes = late.get(at);
      if (nodes === undefined) late.set(at, [node]);
      else nodes.push(node);
    }
  }
  return late;
}

/** Whether two nodes say the same, in whatever quotes. */
export function sameNode(one: Node, other: Node): boolean {
  if (one.kind !== other.kind || one.id !== other.id) return false;
  if (one.kind !== 'entry' || other.kind !== 'entry') return true;
  return sameValue(one.value, other.value) && sameBlock(one, other);
}

function sameBlock(one: Entry, other: Entry): boolean {
  const [nodes, others] = [one.block?.nodes ?? [], other.block?.nodes ?? []];
  return (
    one.block?.kind === other.block?.kind &&
    nodes.length === others.length &&
    nodes.every((node, index) => {
      const partner = others[index];
      return partner !== undefined && sameNode(node, partner);
    })
  );
}
