/** How a content came to be in a file's history. */
export type VersionKind = 'saved' | 'merged' | 'imported' | 'removed' | 'conflict' | 'interrupted' | 'restored';

/** A row of the live tree. Times are µs since the epoch, sizes bytes. */
export interface NodeRow {
  readonly id: number;
  readonly tree: number;
  /** 0 for memory, else the mount that a local file belongs to. */
  readonly mount: number;
  readonly parent: number | null;
  readonly name: string | null;
  readonly kind: 'file' | 'directory';
  /** The head, or the bytes of a local file that was written in one go; null for folders, other local files, and files never closed yet. */
  readonly content: number | null;
  readonly size: number;
  readonly mtime: number;
  readonly atime: number;
  readonly ctime: number;
  readonly shown: number;
}

/** One entry of a file's history. */
export interface NewVersion {
  readonly tree: number;
  readonly path: string;
  readonly content: number;
  readonly kind: VersionKind;
  /** Row id of the session, 0 when none. */
  readonly session: number;
  /** Of a version of kind `merged`. */
  readonly merge?: Merge | undefined;
  /** Row id of the machine that it came from; this one when undefined. */
  readonly machine?: number | undefined;
}

/** What a merged version came from: content ids. */
export interface Merge {
  /** What the session's text was merged against; null when there was nothing. */
  readonly base: number | null;
  /** What the session wrote. */
  readonly written: number;
}

export interface DraftRow {
  readonly id: number;
  readonly tree: number;
  readonly node: number;
  readonly path: string;
  readonly session: number;
  readonly base: number | null;
  /** The content that the writes start from in place of the base: the bytes of a first, whole write. */
  readonly first: number | null;
}

/** A draft that is not saved yet, as it was stored. */
export interface StoredDraft extends DraftRow {
  readonly by: { readonly key: string; readonly name: string };
  /** In order; `bytes` null truncates to `position`. `at` is the modification time that the write gave. */
  readonly writes: readonly { readonly position: number; readonly bytes: Buffer | null; readonly at: number | null }[];
}

/** What the answer of a request needs to know of what it changed: row ids. */
export interface CameTo {
  /** The node that was made, moved or removed. */
  readonly node?: number;
  /** The file whose place it took. */
  readonly target?: number;
  /** The content that its session wrote. */
  readonly content?: number;
  /** Whether the head is that content now, or was merged with it; undefined when it stayed as it was. */
  readonly head?: 'own' | 'merged';
  /** The file had no head before. */
  readonly isFirst?: boolean;
}

/**
 * Thrown by `TreeStore.write`, with nothing stored, when others had changed an open tree since its last transaction:
 * what the caller decided before may no longer hold, and it has to look again.
 */
export class Outdated extends Error {
  override readonly name = 'Outdated';
}

/** Which requests of kernels were applied: known to the successor of a process that died before it answered. */
export interface Requests {
  /** Runs a request of a mount's kernel: each transaction in it also stores that the request was applied. */
  during<T>(mount: number, request: number, work: () => T): T;
  /**
   * Runs, within a request, transactions that leave something of it to be done, or that may be done twice: they do not
   * count as its application.
   */
  apart<T>(work: () => T): T;
  /** Notes, within a transaction of a request, what that came to. */
  cameTo(what: CameTo): void;
  /** What a request came to that an earlier process applied; undefined when none did, or when it was answered. */
  find(mount: number, request: number): CameTo | undefined;
  /** Whether a request was applied, and not answered yet. */
  isApplied(mount: number, request: number): boolean;
  /** A request was answered, and will not be sent again. */
  answered(mount: number, request: number): void;
}

/** What the file system asks of the store. Everything is synchronous but `flushed`. */
export interface TreeStore {
  readonly requests: Requests;
  /**
   * Runs `work` in one immediate transaction, after changes by others have been handed to `follow`.
   * When `work` throws, nothing is stored. Calls nest into the outermost.
   * @param anyway goes on when others changed an open tree; for work that decided nothing before
   * @throws {Outdated} when they did, and `anyway` is not set.
   */
  write<T>(work: () => T, anyway?: boolean): T;
  /** A row id that was never used and never will be again. */
  newId(): number;

  /** The bytes of a content; not to be changed. */
  content(id: number): Buffer;
  /** The same, undefined when they were purged or are not needed by anybody any more. */
  contentIfKept(id: number): Buffer | undefined;
  /** True when a content is one of a tree's versions, heads among them. */
  isOfTree(tree: number, content: number): boolean;
  /** Stores bytes once; the same bytes give the same id. */
  putContent(bytes: Buffer): number;

  /** Every row of a tree: memory, and local files of the given mount. */
  loadNodes(tree: number, mount: number): NodeRow[];
  loadNode(id: number): NodeRow | undefined;
  /** Nodes of a tree that lie in no folder any more, since they were removed while somebody held them. */
  loadOrphans(tree: number): NodeRow[];
  /** The drafts of a tree that this daemon serves. */
  loadDrafts(tree: number): StoredDraft[];
  insertNode(row: NodeRow): void;
  /** Updates what a node is; where it lies stays. */
  updateNode(row: NodeRow): void;
  /** Updates a node whose folder, name or mount changes. */
  moveNode(row: NodeRow): void;
  deleteNode(id: number): void;
  /** Deletes a node that lies in no folder any more; false when it does again, or is gone. */
  deleteOrphan(id: number): boolean;
  /** Puts a removed node back into a folder, also when its row is gone already. */
  restoreNode(row: NodeRow): void;
  /** Tells every other daemon that a node of a tree changed. */
  recordChange(tree: number, node: number): void;

  /** Gives a file, in its place, the head that `row` names, with an entry in the history of `path`; tells the feed. */
  saveHead(row: NodeRow, path: string, kind: VersionKind, session: number, merge?: Merge): void;
  /** The same for a row that is stored already. */
  recordHead(row: NodeRow, path: string, kind: VersionKind, session: number, merge?: Merge): void;
  /** Takes a file out of the tree: its head becomes a `removed` version of `path`; tells the feed. */
  removeHead(row: NodeRow, path: string, session: number): void;
  addVersion(version: NewVersion): void;
  /** Gives the history of one path to another, after what that one has, and what sessions know of it. */
  moveHistory(tree: number, from: string, to: string): void;
  dropHistory(tree: number, path: string): void;
  /** True when the path was saved at most once, and by the session: it may be a temporary of its own. */
  historyIsOwn(tree: number, path: string, session: number): boolean;

  insertDraft(row: DraftRow): void;
  /** Appends write number `index` of a draft; `bytes` null truncates to `position`. `at` is the draft's time after it. */
  appendDraft(draft: number, index: number, position: number, bytes: Buffer | null, at?: number): void;
  /** Has a draft start from other bytes, without the writes it had. */
  restartDraft(draft: number, first: number): void;
  /** Deletes a draft that has `writes` rows of writes. */
  deleteDraft(draft: number, writes: number): void;

  readLocal(node: number, position: number, length: number, size: number): Buffer;
  writeLocal(node: number, position: number, bytes: Buffer): void;
  truncateLocal(node: number, size: number): void;
  deleteLocal(node: number): void;

  /** Row id of a session, made at its first use. */
  sessionRow(session: { readonly key: string; readonly name: string }): number;
  saveServed(session: number, tree: number, path: string, content: number | null, at: number): void;

  /** Resolves when everything committed so far is on the disk. */
  flushed(): Promise<void>;
}
