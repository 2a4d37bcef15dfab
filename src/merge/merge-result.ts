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
    }
  | { readonly kind: 'refused'; readonly reason: MergeRefusal };

const sentences: Record<MergeRefusal, string> = {
  'not text': 'The two contents were not merged, because one of them is not text.',
  frontmatter: 'The two contents were not merged, because both changed a frontmatter that is not plain keys and lists.',
  'too different': 'The two contents were not merged, because they have too little in common to be one file.',
  'does not parse': 'The two contents were not merged, because the result would no longer parse.',
  'too large to check':
    'The two contents were not merged, because the file is too large to check that the result parses.',
};

/** One sentence that tells a person why two contents were not merged. */
export function refusalSentence(reason: MergeRefusal): string {
  return sentences[reason];
}
