import type { MergeOptions } from '../merge/merge-sides.js';
import type { Limits } from '../ports/limits.js';
import type { Outcome } from './plan.js';

/** Where a folder comes from, as the store remembers it. */
export interface Source {
  /** Row id of the machine. */
  readonly machine: number;
  /** Its name for people. */
  readonly host: string;
  /** The folder on that machine, or whatever tells it from others of the same machine. */
  readonly folder: string;
}

/** Looks for secrets: rule and line of each finding, never the value. */
export type Scan = (
  path: string,
  bytes: Buffer,
) => Promise<readonly { readonly rule: string; readonly line: number }[]>;

/** What an import reads, and how. */
export interface ImportOptions {
  readonly source: Source;
  /** Tells what other programs leave behind: it is neither imported nor named. */
  readonly isLocal: (path: string) => boolean;
  /** Frontmatter keys that the harness maintains (`MergeOptions`). */
  readonly maintained: MergeOptions['maintained'];
  readonly limits: Limits;
  /** Row id of the session that the versions are made by; asked when there is something to store. None without it. */
  readonly session?: () => number;
  /** Asked about each file that would be stored; one with a finding is refused. Everything is stored without it. */
  readonly scan?: Scan;
  /** Why a file that would be stored is not this project's; goes on after "it". Undefined for one that may be. */
  readonly refuse?: (path: string, bytes: Buffer) => string | undefined;
  /** Told how many files there are, before the first. */
  readonly begin?: (total: number) => void;
  /** Told after each file. */
  readonly progress?: (file: ImportedFile, done: number, total: number) => void;
}

/** What happened to one file. */
export interface ImportedFile {
  /** In the folder. */
  readonly path: string;
  readonly outcome: Outcome | 'skipped';
  /** Lines of the folder's file that are not in the result. */
  readonly linesLost: number;
  /** Why it is a conflict, or was skipped; goes on after "it". */
  readonly reason: string | null;
}
