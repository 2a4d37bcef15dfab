import type { MemoryHarness } from '../../harness/adapter.js';
import type { RemoteIdentity } from '../../project/remote-url.js';

/** Somebody who may be credited. */
export interface CreditedPerson {
  readonly id: string;
  /** Name or number of a Linux user of this machine; null for a person who has none here. */
  readonly user: string | null;
  /** Folder of the person's store, where it is not in its usual place. */
  readonly store: string | undefined;
}

/** What is recorded of a home. */
export interface HomeRecord {
  readonly id: string;
  /** Whose it is; null when it says nobody. */
  readonly person: string | null;
  /** `waiting`: it is handed over to somebody, and that is not done. */
  readonly state: 'settled' | 'waiting';
  /** The workspace that it belongs to. */
  readonly workspace: string;
}

/** A session that a worktree had. */
export interface SessionRecord {
  readonly id: string;
  /** Null when it is not known. */
  readonly owner: string | null;
}

/** The sessions of a worktree. */
export interface SessionRecords {
  /** Whether sessions that were deleted are in the list: only then it has every session that there ever was. */
  readonly deletedKept: boolean;
  readonly list: readonly SessionRecord[];
}

/** A copy of a memory folder as it was at one time. */
export interface Reading {
  readonly id: string;
  /** The workspace that wrote it. */
  readonly workspace: string;
  /** The record of the home that it was made of, where there is one. */
  readonly home: HomeRecord | undefined;
  readonly harness: MemoryHarness;
  readonly folder: string;
  /** ms since the epoch. */
  readonly time: number;
  /** The last save of its workspace; another one is read again later. */
  readonly isFinal: boolean;
}

/** What project a worktree is of: by its remote, by a folder of a checkout, or both. */
export interface ProjectPlace {
  readonly remote: RemoteIdentity | undefined;
  readonly folder: string | undefined;
}

/** A worktree that several people shared. */
export interface Worktree {
  readonly id: string;
  readonly project: ProjectPlace;
  /** Its shared workspaces, the last one last. */
  readonly workspaces: readonly string[];
  readonly sessions: SessionRecords;
  readonly readings: readonly Reading[];
}

/** The members of an organisation, as they are now. */
export interface Organisation {
  readonly id: string;
  readonly members: readonly string[];
}

/** What an administrator knows of the time when workspaces shared one home. */
export interface Manifest {
  readonly organisation: Organisation;
  readonly people: ReadonlyMap<string, CreditedPerson>;
  readonly worktrees: readonly Worktree[];
}
