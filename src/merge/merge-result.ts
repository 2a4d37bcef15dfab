/** Why two changes were not merged. */
export type MergeRefusal = 'not text' | 'frontmatter' | 'too different' | 'does not parse' | 'too large to check';

/** What became of a merge. */
export type MergeResult =
  | {
      readonly kind: 'merged';
      readonly bytes: Buffer;
      /** False when both sides changed one place and the lines of both were kept there. */
      readonly clean: boolean;
      /** Lines that a side added to the base and that the result lacks, for each side. */
      readonly lost: { readonly store: number; readonly other: number };
      /** Lines of the other side that the result lacks, those of the base that the store's side removed included. */
      readonly gone: number;
    }
  | { readonly kind: 'refused'; readonly reason: MergeRefusal };

const phrases: Record<MergeRefusal, string> = {
  'not text': 'one of the two is not text',
  frontmatter: 'both changed a frontmatter that is not plain keys and lists',
  'too different': 'the two have too little in common to be one file',
  'does not parse': 'the result would no longer parse',
  'too large to check': 'the file is too large to check that the result parses',
};

/** Tells a person why two contents were not merged: the end of a sentence. */
export function refusalPhrase(reason: MergeRefusal): string {
  return phrases[reason];
}
