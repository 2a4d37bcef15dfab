/** A line of `key: value`, with the block that stands under it. */
export interface Entry {
  readonly kind: 'entry';
  /** The key without quotes. */
  readonly id: string;
  /** Place of the line in its side. */
  readonly at: number;
  readonly indent: number;
  /** The line without its indent. */
  readonly raw: string;
  /** What follows the colon, without blanks around it; empty when that is only a comment. */
  readonly value: string;
  readonly block: Block | undefined;
}

/** An item of a list, a comment or a blank line. */
export interface Leaf {
  readonly kind: 'item' | 'note';
  /** Tells equal ones apart by how many came before. */
  readonly id: string;
  readonly at: number;
  readonly indent: number;
  readonly raw: string;
  readonly value: string;
}

export type Node = Entry | Leaf;

/** A mapping or a list, with comments and blank lines where they stand. */
export interface Block {
  readonly kind: 'map' | 'list';
  readonly indent: number;
  readonly nodes: readonly Node[];
}

/** Nesting beyond this is refused, for the sake of the stack. */
export const deepest = 100;

/** A longer frontmatter is refused: to tell its keys apart would take too long. The longest real note has 2,092 lines. */
export const longest = 2500;
