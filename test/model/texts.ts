/** The content of a file; null when there is no such file. */
export type Content = string | null;

/** The lines of a content, without their ends. */
export function linesOf(content: Content): string[] {
  const lines = (content ?? '').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** Lines, with their ends, that only one of two contents has: what it takes to make one of the other. */
export function changes(from: Content, to: Content): number {
  const [before, after] = [new Set((from ?? '').split(/(?<=\n)/)), new Set((to ?? '').split(/(?<=\n)/))];
  before.delete('');
  after.delete('');
  const gone = [...before].filter((line) => !after.has(line));
  return gone.length + [...after].filter((line) => !before.has(line)).length;
}

/**
 * The lines that a merge has to give. Every written line is a line of its own, so a merge is a matter of sets: what a
 * side added is in, what a side removed is out, and what neither touched stays.
 */
export function mergedLines(base: Content, head: Content, text: Content): Set<string> {
  const [before, theirs, ours] = [base, head, text].map((content) => new Set(linesOf(content))) as [
    Set<string>,
    Set<string>,
    Set<string>,
  ];
  const result = new Set<string>();
  for (const line of [...theirs, ...ours]) {
    if (before.has(line) ? theirs.has(line) && ours.has(line) : true) result.add(line);
  }
  return result;
}

/** Whether the lines that two contents share stand in one order in both, each once. */
function sameOrder(one: Content, other: Content): boolean {
  const lines = linesOf(other);
  if (new Set(lines).size !== lines.length) return false;
  const places = linesOf(one).flatMap((line) => (lines.includes(line) ? [lines.indexOf(line)] : []));
  return places.every((place, index) => index === 0 || place > (places[index - 1] ?? -1));
}

/**
 * Why a content is not what a merge has to give; undefined when it is. The lines of each side stay in its order. Where
 * the sides or the base have lines in different orders (which takes a line that was removed and written again), a line
 * that moved may count as a new one: only what was added has to be there then.
 */
export function mergeFault(found: Content, base: Content, head: Content, text: Content): string | undefined {
  const there = linesOf(found);
  const has = new Set(there);
  const lines = mergedLines(base, head, text);
  const moved = ![[base, head] as const, [base, text] as const, [head, text] as const].every(([a, b]) =>
    sameOrder(a, b),
  );
  const before = new Set(linesOf(base));
  const sides = new Set([...linesOf(head), ...linesOf(text)]);
  const missing = [...lines].filter((line) => !has.has(line) && !(moved && before.has(line)));
  const extra = [...has].filter((line) => !lines.has(line) && !(moved && before.has(line) && sides.has(line)));
  if (missing.length > 0 || extra.length > 0) return `lacks [${missing.join(' ')}], has besides [${extra.join(' ')}]`;
  if (moved) return undefined;
  if (has.size !== there.length) return 'has a line twice';
  return sameOrder(found, head) && sameOrder(found, text) ? undefined : 'is in another order';
}
