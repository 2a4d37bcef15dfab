import type { HarnessEnvironment } from '../harness/adapter.js';
import type { Limits } from '../ports/limits.js';
import type { Repository } from '../project/repository.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import { codexCarrier } from './codex/carrier.js';
import type { CodexLimits } from './codex/codex-limits.js';
import type { Skipped } from './folder-reader.js';
import type { ImportedFile, ImportOptions } from './import-options.js';

/** The home that a harness has for one project (`HarnessPlace.home`). */
export interface CarriedPlace {
  readonly tree: TreeRow;
  readonly home: string;
  /** Its memory folder, which may be mounted. */
  readonly folder: string;
  /** The checkout that it was made for. */
  readonly checkout: string;
}

/** What is carried, and how much of it. */
export interface CarryLimits extends Limits, CodexLimits {}

/** What an import from a home reads, and how. */
export interface CarriedImport extends ImportOptions {
  readonly limits: CarryLimits;
}

/**
 * What a harness keeps beside its memory folder that has to go with it: the memory would be lost, or of no use, without. Each
 * function can be called at any time, in several processes at once, while the harness runs or not; none touches the memory
 * folder, which may be a mount of this very process.
 */
export interface Carrier {
  /** Has a home know what the store has. What the home has is taken before. Before the harness starts, and while it runs. */
  bring(store: Store, place: CarriedPlace, limits: CarryLimits): Promise<readonly Skipped[]>;
  /** Takes what the harness did in a home into the store. @param hurry passes over databases that look as they did the last time */
  take(store: Store, place: CarriedPlace, limits: CarryLimits, hurry?: boolean): Promise<readonly Skipped[]>;
  /** What of a home was refused when it was looked at last. */
  refused(store: Store, place: CarriedPlace): readonly Skipped[];
  /** What of a home cannot be taken as it is now: damage, or a limit. Changes nothing. */
  faults(home: string, limits: CodexLimits): readonly Skipped[];
  /** Never takes what was done in a home since a time (µs since the epoch), removals included: a shared session used it. */
  withhold(store: Store, place: Pick<CarriedPlace, 'tree' | 'home'>, since: number): Promise<void>;
  /** The same for what would be taken in with the next mount, while the session is shared. */
  keepOut(place: Pick<CarriedPlace, 'home'>, since: number): void;
  /** Whether the store has taken something from a home for a tree: it was that project's, then. */
  knows(store: Store, tree: TreeRow, home: string): boolean;
  /** The home of the user's own, which an import reads. @throws {MendError} when the environment cannot tell */
  userHome(env: HarnessEnvironment): string;
  /** How many files an import from a home would find for a repository. */
  count(home: string, repository: Repository): Promise<number>;
  /** Imports the memory of a project from a home of the user that has memory of many. */
  import(store: Store, tree: TreeRow, home: string, options: CarriedImport): Promise<ImportedFile[]>;
  /** A file was removed from memory: what would bring it back is removed too. */
  removed(store: Store, tree: TreeRow, path: string, bytes: Buffer | undefined): void;
  /**
   * A file was purged, or a version of it: no copy of what it said stays beside the files.
   * @param contents what it held, and holds no more
   * @param isWhole false for a version
   * @returns the conversations of which something went
   */
  purged(store: Store, tree: TreeRow, path: string, contents: readonly Buffer[], isWhole: boolean): readonly string[];
  /** A file was restored: what the harness would write in its place says the same from now on. */
  restored(store: Store, tree: TreeRow, path: string, bytes: Buffer): void;
}

/** The carriers there are, by the name of the harness. */
export const carriers: Readonly<Record<string, Carrier | undefined>> = { codex: codexCarrier };
