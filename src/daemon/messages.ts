import type { Agreement } from '../fuse/init.js';
import type { Limits } from '../ports/limits.js';
import type { MachineIdentity } from '../store/projects.js';

/** What the main thread hands over when the serving thread is to begin. */
export interface ServerData {
  readonly folder: string;
  readonly owner: string;
  readonly machine: MachineIdentity;
  readonly limits: Limits;
  /** File of the journal. */
  readonly journal: string;
  /** Whether it goes on with the mounts of an earlier process. */
  readonly takesOver: boolean;
}

/** A mount that the serving thread is to serve. */
export interface AttachRequest {
  readonly fd: number;
  readonly mount: number;
  readonly tree: number;
  readonly project: number;
  readonly harness: string;
  readonly path: string;
}

/** What the kernel of a mount agreed to. */
export type KernelFeatures = Agreement;

/** A mount that an earlier process served, which the serving thread is to go on with. */
export interface ResumeRequest extends AttachRequest {
  readonly features: KernelFeatures;
}

/** What the serving thread knows of a mount, for `mend status`. */
export interface MountUsage {
  readonly mount: number;
  readonly files: number;
  readonly bytes: number;
  readonly limitFiles: number;
  readonly limitBytes: number;
  /** The last file that was refused over a limit. */
  readonly refused: string | null;
  /** Sessions that have files open on it. */
  readonly sessions: readonly string[];
}

/** From the main thread to the serving thread; each is answered with the same `id`. */
export type ServerRequest =
  /** The first one. */
  | { readonly id: number; readonly kind: 'start'; readonly data: ServerData }
  | { readonly id: number; readonly kind: 'attach'; readonly attach: AttachRequest }
  | {
      readonly id: number;
      readonly kind: 'resume';
      readonly mounts: readonly ResumeRequest[];
      /** Mounts that were taken off while nobody served them. */
      readonly departed: readonly ResumeRequest[];
    }
  | { readonly id: number; readonly kind: 'detach'; readonly mount: number }
  /** Answers what it has read, and reads nothing more. */
  | { readonly id: number; readonly kind: 'rest' }
  | { readonly id: number; readonly kind: 'catchUp' }
  | { readonly id: number; readonly kind: 'usage' }
  /** Which contents open files show. */
  | { readonly id: number; readonly kind: 'held' }
  /** How many other daemons serve the store. */
  | { readonly id: number; readonly kind: 'peers'; readonly count: number }
  /** The other daemons have applied what was committed before `telling` was asked for. */
  | { readonly id: number; readonly kind: 'peersTold'; readonly telling: number }
  | { readonly id: number; readonly kind: 'stop' };

/** From the serving thread to the main thread. */
export type ServerMessage =
  /** Its code is loaded. */
  | { readonly kind: 'loaded' }
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly value?: unknown;
      readonly error?: string;
      readonly code?: string;
    }
  /** The kernel ended a mount without being asked by this daemon. */
  | { readonly kind: 'ended'; readonly mount: number }
  /** Nothing happens any more, or something does again. */
  | { readonly kind: 'rests'; readonly rests: boolean }
  /** Asks that the other daemons be told; answered with `peersTold`. */
  | { readonly kind: 'tellPeers'; readonly telling: number };
