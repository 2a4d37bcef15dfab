import type { ProjectPlace } from '../../import/credit/manifest.js';
import type { Skipped } from '../../import/folder-reader.js';
import type { ImportedFile } from '../../import/import-options.js';

/** What the process of the credited person is told first. */
export interface CreditRequest {
  readonly project: { readonly remote: ProjectPlace['remote'] | null; readonly folder: string | null };
  readonly harness: string;
  /** What the store knows the source by, and its name for people. */
  readonly source: { readonly key: string; readonly name: string };
  /** Nothing is written. */
  readonly isDry: boolean;
  readonly allowSecrets: boolean;
  readonly files: readonly string[];
  readonly skipped: readonly Skipped[];
}

/** What stands before the bytes of a file; with a reason there are no bytes. Files come in the order of the request. */
export type SentHead =
  | { readonly path: string; readonly mtime: number }
  | { readonly path: string; readonly reason: string };

/** What that process says, one line of JSON each. */
export type CreditAnswer =
  | { readonly kind: 'file'; readonly file: ImportedFile }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly message: string };
