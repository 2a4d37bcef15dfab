import type { ExitStatus } from '../exit-status.js';

/** Options of every memory command. */
export interface MemoryOptions {
  readonly project?: string;
  readonly json?: boolean;
}

/** Adds what was given before the subcommand's name to what was given after it. */
export type Merge = <T extends MemoryOptions>(options: T) => T;

/** Runs a memory command. */
export type RunMemory = (work: (merged: Merge) => Promise<ExitStatus>) => Promise<void>;
