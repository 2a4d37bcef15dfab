import type { KernelFeatures } from './messages.js';

/** What is told of a mount whose descriptor the supervisor keeps, for the server that goes on with it. */
export interface HeldMount {
  readonly mount: number;
  readonly tree: number;
  readonly path: string;
  /** The kernel's number of the file system. */
  readonly device?: string | undefined;
  readonly checkout: string;
  readonly features: KernelFeatures;
}

/** What is told of the lock, for the server that goes on with it. */
export interface HeldLock {
  /** Which file is the database (`identityOf`). */
  readonly database: string | undefined;
}

/** A descriptor that the supervisor keeps: the daemon's lock, or that of a mount. */
export type HeldData = ({ readonly kind: 'lock' } & HeldLock) | ({ readonly kind: 'mount' } & HeldMount);

export interface HeldEntry {
  readonly key: string;
  readonly data: HeldData;
}

/** Descriptor of the server on which descriptors are passed, one with each byte. */
export const PASSING = 4;

/** From the server to the supervisor. */
export type ServerSays =
  /** Its code is loaded: it can take over. */
  | { readonly kind: 'loaded' }
  /** A descriptor was passed, to be kept; answered with `held`. */
  | ({ readonly kind: 'hold' } & HeldEntry)
  /** A descriptor is not needed any more; answered with `dropped`. */
  | { readonly kind: 'drop'; readonly key: string }
  /** It serves, or why not: for whoever started the daemon. */
  | { readonly kind: 'words'; readonly words: string }
  /** Nothing happens any more, or something does again. */
  | { readonly kind: 'rests'; readonly rests: boolean }
  /** Somebody asks for another server in the place of this one. */
  | { readonly kind: 'replace' }
  /** It was told to leave, and cannot. */
  | { readonly kind: 'stay'; readonly reason: string };

/** From the supervisor to the server. */
export type SupervisorSays =
  | {
      readonly kind: 'go';
      /** The descriptors that are passed, in order. */
      readonly held: readonly HeldEntry[];
      /** Mounts that a server left whose kernel cannot send requests again: they are gone, and to be mounted anew. */
      readonly lost: readonly HeldMount[];
      /** Times that a server died so far. */
      readonly deaths: number;
    }
  | { readonly kind: 'held' | 'dropped'; readonly key: string }
  /** Another server waits: answer what was read, and end. */
  | { readonly kind: 'leave' }
  /** There is no other server to go on. */
  | { readonly kind: 'notReplaced'; readonly reason: string };
