import { RequestType, RequestType0, ResponseError } from 'vscode-jsonrpc/node.js';
import { MendError } from '../errors.js';

/** Code of an answer whose message is a sentence for people. */
export const FOR_PEOPLE = 1;

/** True for an error that says, in a sentence for people, what was refused: here, or by the daemon that was asked. */
export function isForPeople(error: unknown): error is MendError | ResponseError<void> {
  return error instanceof MendError || (error instanceof ResponseError && error.code === FOR_PEOPLE);
}

/** What `mend mount` asks for one harness of one project. */
export interface MountRequest {
  readonly project: number;
  readonly harness: string;
  /** Absolute path of the memory folder. */
  readonly path: string;
  readonly checkout: string;
}

/** A file of the folder under a mount that was not exchanged with the store, and why. */
export interface SkippedFile {
  readonly path: string;
  readonly reason: string;
}

export interface MountAnswer {
  readonly path: string;
  readonly already: boolean;
  /** Files that lay in the folder and were taken into the store or settled against it, by outcome. */
  readonly taken: Readonly<Record<string, number>>;
  /** Merged files that had lines which are not in the result. */
  readonly partly: readonly string[];
  readonly skipped: readonly SkippedFile[];
}

export interface UnmountRequest {
  /** Mount points, or all when undefined. */
  readonly paths?: readonly string[];
  /** Takes mounts off that have open files. */
  readonly force: boolean;
}

export interface UnmountAnswer {
  readonly unmounted: readonly string[];
  readonly failed: readonly { readonly path: string; readonly reason: string }[];
  readonly skipped: readonly SkippedFile[];
}

/** One mount as `mend status --json` prints it (spec §11.2). */
export interface MountStatus {
  readonly path: string;
  readonly project: string;
  readonly harness: string;
  readonly files: number;
  readonly bytes: number;
  readonly limit_files: number;
  readonly limit_bytes: number;
  readonly refused: string | null;
  /** Where it is, when a folder above it was renamed while it was mounted; null as a rule. */
  readonly moved: string | null;
}

export interface DaemonStatus {
  readonly version: string;
  /** The process that serves; null when none does. */
  readonly pid: number | null;
  readonly supervisor_pid: number | null;
  readonly kernel: { readonly protocol: string | null; readonly resend: boolean };
  readonly mounts: readonly MountStatus[];
  /** Names of sessions that have files open. */
  readonly sessions: readonly string[];
}

/** What `mend run` asks before it starts a program: who asks belongs to the session from then on, with all that it starts. */
export interface BeginSessionRequest {
  readonly name: string;
  /** Whether a person chose the name: there may be a session that has it, which then goes on. */
  readonly chosen: boolean;
  readonly harness: string;
  readonly project: number;
}

export const beginSessionRequest = new RequestType<BeginSessionRequest, null, void>('beginSession');
/** Names the program, a child of who asks, by its process id: it belongs to the session also when that one is killed. */
export const joinSessionRequest = new RequestType<number, null, void>('joinSession');
/** Who asks is about to end, after its program: what is left of that still belongs to the session. */
export const leaveSessionRequest = new RequestType0<null, void>('leaveSession');

export const mountRequest = new RequestType<MountRequest, MountAnswer, void>('mount');
export const unmountRequest = new RequestType<UnmountRequest, UnmountAnswer, void>('unmount');
/** Has another server take the place of the one that answers; fails when there is none to do that. */
export const replaceRequest = new RequestType0<null, void>('replace');
export const statusRequest = new RequestType0<DaemonStatus, void>('status');
/** Answered when every kernel of the daemon was told of everything committed before. */
export const catchUpRequest = new RequestType0<null, void>('catchUp');
/** Says that another daemon serves the same store and wants to hear of changes; it names its namespace. */
export const greetRequest = new RequestType<string, null, void>('greet');
