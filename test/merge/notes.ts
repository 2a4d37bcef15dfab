import fc from 'fast-check';

/** A base and what two sides made of it. */
export interface Triple {
  readonly base: string;
  readonly store: string;
  readonly other: string;
}

type Edit =
  | { kind: 'insert'; at: number; lines: string[] }
  | { kind: 'remove'; at: number; count: number }
  | { kind: 'replace'; at: number; lines: string[] }
  | { kind: 'move'; at: number; to: number };

interface Shape {
  /** Where lines come from. */
  readonly line: fc.Arbitrary<string>;
  /** Whether sides move lines. */
  readonly moves: boolean;
  readonly lines?: number;
  readonly edits?: number;
}

/** Triples whose sides are made by edits of a base, as people and programs make them. */
export function triples(shape: Shape): fc.Arbitrary<Triple> {
  return triplesOf(fc.array(shape.line, { maxLength: shape.lines ?? 12 }), shape);
}

/** The same with bases that are given as their lines. */
export function triplesOf(bases: fc.Arbitrary<string[]>, shape: Shape): fc.Arbitrary<Triple> {
  const { line, moves, lines = 12, edits = 4 } = shape;
  const at = fc.nat({ max: lines });
  const some = fc.array(line, { minLength: 1, maxLength: 3 });
  const kinds: fc.Arbitrary<Edit>[] = [
    fc.record({ kind: fc.constant('insert' as const), at, lines: some }),
    fc.record({ kind: fc.constant('remove' as const), at, count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant('replace' as const), at, lines: some }),
    ...(moves ? [fc.record({ kind: fc.constant('move' as const), at, to: at })] : []),
  ];
  const change = fc.array(fc.oneof(...kinds), { maxLength: edits });
  return fc.record({ base: bases, store: change, other: change }).map(({ base, store, other }) => ({
    base: text(base),
    store: text(store.reduce(apply, base)),
    other: text(other.reduce(apply, base)),
  }));
}

function apply(lines: readonly string[], edit: Edit): string[] {
  const result = [...lines];
  const at = Math.min(edit.at, result.length);
  if (edit.kind === 'insert') result.splice(at, 0, ...edit.lines);
  else if (edit.kind === 'remove') result.splice(at, edit.count);
  else if (edit.kind === 'replace') result.splice(at, 1, ...edit.lines);
  else result.splice(edit.to, 0, ...result.splice(at, 1));
  return result;
}

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** Lines of which no two are equal. */
export const freshLine = fc.bigInt({ min: 0n, max: 2n ** 64n }).map((number) => `line ${number.toString(36)}`);

/** Lines of which many are equal, some of them blank. */
export const commonLine = fc.constantFrom('', '', 'a', 'b', '- c', '***', '## d');

/** Lines as they stand in notes: mostly different, blank ones between them. */
export const noteLine = fc.oneof({ weight: 4, arbitrary: freshLine }, { weight: 1, arbitrary: fc.constant('') });

/** Texts of any bytes that are text, with every kind of line end, mark and blank. */
export const wildText = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      ' ',
      '\t',
      '\n',
      '\n',
      '\r\n',
      '\r',
      '\ufeff',
      '\u00e9',
      'e\u0301',
      '---\n',
      'k: v\n',
      '- i\n',
      '  n: w\n',
      '# c\n',
    ),
    { maxLength: 24 },
  )
  .map((pieces) => pieces.join(''));

/** How often each line stands in a text, without line ends. */
export function countLines(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** Lines that a side added to the base and that a result lacks. */
export function missing(base: string, side: string, result: string): string[] {
  const [before, after, there] = [base, side, result].map(countLines);
  return [...(after ?? [])].flatMap(([line, count]) =>
    (there?.get(line) ?? 0) < count - (before?.get(line) ?? 0) ? [line] : [],
  );
}
