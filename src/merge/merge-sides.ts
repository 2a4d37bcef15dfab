/** The three contents of one merge. */
export interface MergeSides {
  /** What both sides started from. Null when it is not known; empty when both created the file. */
  readonly base: Buffer | null;
  /** What the store holds. Its line ends, its order and, in frontmatter, its values come first. */
  readonly store: Buffer;
  /** What is merged into it: a session's draft, or another machine's file. */
  readonly other: Buffer;
}

/** What a merge has to know besides the bytes. */
export interface MergeOptions {
  /** Path within the tree. Its ending says whether the result must parse as JSON, YAML or TOML. */
  readonly path: string;
  /** Frontmatter keys that the harness itself maintains, nested ones with dots: `metadata.modified`. */
  readonly maintained: readonly string[];
  /** The side whose value a maintained key takes. */
  readonly newer: 'store' | 'other';
  /** Where the other side comes from, for the comment that keeps a value which did not win. */
  readonly from: { readonly host: string; readonly date: string };
}
