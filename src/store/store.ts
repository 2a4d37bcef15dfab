import { join } from 'node:path';
import type Database from 'better-sqlite3';
import {
  type DraftRow,
  type Merge,
  type NewVersion,
  type NodeRow,
  Outdated,
  type StoredDraft,
  type TreeStore,
  type VersionKind,
} from '../ports/store.js';
import { AppliedTable } from './applied-table.js';
import { ContentTable } from './content-table.js';
import { DraftTable } from './draft-table.js';
import { type Change, Feed, PURGED } from './feed.js';
import { Ids } from './ids.js';
import { ImportBases } from './import-bases.js';
import { ImportDisputes } from './import-disputes.js';
import { LocalTable } from './local-table.js';
import { STORE_FILE } from './location.js';
import { NodeTable } from './node-table.js';
import { type OpenOptions, openDatabase } from './open-database.js';
import { StorePlace } from './place.js';
import { ensureMachine, type MachineIdentity, ProjectTable } from './projects.js';
import { SessionTable } from './session-table.js';
import { StoreLog } from './store-log.js';
import { type TreeRow, TreeTable } from './tree-table.js';
import { VersionTable } from './version-table.js';
import { now } from './wall-clock.js';

/** How a store is opened. */
export interface StoreOptions extends OpenOptions {
  /** Names this process as the owner of the drafts it writes. */
  readonly owner: string;
  /** Who this machine is; asked once the store's folder has been checked. */
  readonly machine: () => MachineIdentity;
  /** Used in place of the file: a copy in memory (`copyOfStore`). */
  readonly database?: Database.Database;
}

/** One connection to a person's store: the tables, and the one way to change memory. */
export class Store implements TreeStore {
  readonly folder: string;
  readonly db: Database.Database;
  readonly machine: number;
  readonly projects: ProjectTable;
  readonly trees: TreeTable;
  readonly nodes: NodeTable;
  readonly contents: ContentTable;
  readonly versions: VersionTable;
  readonly drafts: DraftTable;
  readonly bases: ImportBases;
  readonly disputes: ImportDisputes;
  readonly feed: Feed;
  readonly requests: AppliedTable;
  readonly sessions: SessionTable;
  /** Handed the changes that other processes made, inside the transaction that found them; undefined when anything may have changed. Tells whether an open tree did. */
  follow: (changes: Change[] | undefined) => unknown = () => false;
  /** Called after each transaction that was committed. */
  committed: () => void = () => undefined;
  readonly contentIfKept = (id: number): Buffer | undefined => this.contents.find(id);
  readonly loadNode = (id: number): NodeRow | undefined => this.nodes.get(id);
  readonly isOfTree = (tree: number, content: number): boolean => this.versions.has(tree, content);

  readonly #ids: Ids;
  readonly #local: LocalTable;
  readonly #log: StoreLog;
  /** Undefined for a store in memory. */
  readonly place: StorePlace | undefined;
  readonly #begin;
  readonly #commit;
  readonly #rollback;

  /** @throws {MendError} as `openDatabase` does. */
  constructor(folder: string, options: StoreOptions) {
    this.folder = folder;
    this.db = options.database ?? openDatabase(folder, options);
    try {
      this.#ids = new Ids(this.db);
      this.projects = new ProjectTable(this.db);
      this.trees = new TreeTable(this.db);
      this.nodes = new NodeTable(this.db);
      this.contents = new ContentTable(this.db, () => this.#ids.next());
      this.versions = new VersionTable(this.db);
      this.drafts = new DraftTable(this.db, options.owner);
      this.bases = new ImportBases(this.db);
      this.disputes = new ImportDisputes(this.db);
      this.requests = new AppliedTable(this.db);
      this.#local = new LocalTable(this.db);
      this.sessions = new SessionTable(this.db);
      this.#begin = this.db.prepare('BEGIN IMMEDIATE');
      this.#commit = this.db.prepare('COMMIT');
      this.#rollback = this.db.prepare('ROLLBACK');
      this.machine = ensureMachine(this.db, options.machine());
      this.feed = new Feed(this.db);
      const file = this.db.memory ? undefined : join(folder, STORE_FILE);
      this.#log = new StoreLog(this.db, file, (work) => this.write(work, true));
      this.place = file === undefined ? undefined : new StorePlace(file);
    } catch (error) {
      // Its tables are not what they should be. A connection that stays open keeps its locks.
      if (!options.database) this.db.close();
      throw error;
    }
  }

  get now(): number {
    return now();
  }

  write<T>(work: () => T, anyway = false): T {
    if (this.db.inTransaction) return work();
    this.place?.check();
    this.#begin.run();
    let seen = this.feed.seen;
    try {
      const outdated = this.#catchUp();
      seen = this.feed.seen;
      if (outdated && !anyway) throw new Outdated('others changed the tree');
      const result = work();
      this.requests.mark();
      this.#commit.run();
      this.#log.committed();
      this.committed();
      return result;
    } catch (error) {
      if (this.db.inTransaction) this.#rollback.run();
      this.feed.seen = seen;
      this.#ids.reset();
      this.sessions.forgetKnown();
      this.contents.forget();
      throw error;
    }
  }

  /** Applies what other processes changed since the last time. */
  catchUp(): void {
    if (!this.db.inTransaction) this.#catchUp();
  }

  /** True when an open tree changed. */
  #catchUp(): boolean {
    if (this.feed.last() === this.feed.seen) return false;
    const changes = this.feed.news();
    if (!changes || changes.some(({ node }) => node === PURGED)) this.contents.forget();
    return this.follow(changes) === true;
  }

  newId(): number {
    return this.#ids.next();
  }

  content(id: number): Buffer {
    return this.contents.get(id);
  }

  putContent(bytes: Buffer): number {
    return this.contents.put(bytes);
  }

  /** The tree of a project and harness, made when there is none. */
  treeOf(project: number, harness: string): TreeRow {
    const find = (): TreeRow | undefined => this.trees.find(project, harness);
    return find() ?? this.write(() => find() ?? this.trees.create(project, harness, () => this.newId(), now()), true);
  }

  loadNodes(tree: number, mount: number): NodeRow[] {
    const row = this.trees.get(tree);
    return row ? this.nodes.walk(row.root, mount) : [];
  }

  loadOrphans(tree: number): NodeRow[] {
    return this.nodes.orphansOf(tree, this.trees.get(tree)?.root ?? 0);
  }

  loadDrafts(tree: number): StoredDraft[] {
    return this.drafts.ofTree(tree);
  }

  insertNode(row: NodeRow): void {
    this.nodes.insert(row);
  }

  updateNode(row: NodeRow): void {
    this.nodes.update(row);
  }

  moveNode(row: NodeRow): void {
    this.nodes.move(row);
  }

  deleteNode(id: number): void {
    this.nodes.delete(id);
  }

  deleteOrphan(id: number): boolean {
    return this.nodes.deleteOrphan(id);
  }

  restoreNode(row: NodeRow): void {
    this.nodes.restore(row);
  }

  recordChange(tree: number, node: number): void {
    this.feed.append(tree, node);
  }

  saveHead(row: NodeRow, path: string, kind: VersionKind, session: number, merge?: Merge): void {
    this.nodes.update(row);
    this.recordHead(row, path, kind, session, merge);
  }

  recordHead(row: NodeRow, path: string, kind: VersionKind, session: number, merge?: Merge): void {
    if (row.content !== null) this.addVersion({ tree: row.tree, path, content: row.content, kind, session, merge });
    this.recordChange(row.tree, row.id);
  }

  removeHead(row: NodeRow, path: string, session: number): void {
    if (row.content !== null) this.addVersion({ tree: row.tree, path, content: row.content, kind: 'removed', session });
    this.nodes.move({ ...row, parent: null, name: null });
    this.recordChange(row.tree, row.id);
  }

  addVersion(version: NewVersion): void {
    this.versions.add(version, version.machine ?? this.machine, now());
  }

  moveHistory(tree: number, from: string, to: string): void {
    this.versions.move(tree, from, to);
    this.sessions.moveServed(tree, from, to);
  }

  dropHistory(tree: number, path: string): void {
    this.versions.drop(tree, path);
  }

  historyIsOwn(tree: number, path: string, session: number): boolean {
    return this.versions.isOwn(tree, path, session);
  }

  insertDraft(row: DraftRow): void {
    this.drafts.insert(row);
  }

  appendDraft(draft: number, index: number, position: number, bytes: Buffer | null, at?: number): void {
    this.drafts.append(draft, index, position, bytes, at);
  }

  restartDraft(draft: number, first: number): void {
    this.drafts.restart(draft, first);
  }

  deleteDraft(draft: number, writes: number): void {
    this.drafts.delete(draft, writes);
  }

  readLocal(node: number, position: number, length: number, size: number): Buffer {
    return this.#local.read(node, position, length, size);
  }

  writeLocal(node: number, position: number, bytes: Buffer): void {
    this.#local.write(node, position, bytes);
  }

  truncateLocal(node: number, size: number): void {
    this.#local.truncate(node, size);
  }

  deleteLocal(node: number): void {
    this.#local.delete(node);
  }

  sessionRow(session: { readonly key: string; readonly name: string }): number {
    return this.sessions.row(session.key, session.name, () => this.#ids.next(), now());
  }

  saveServed(...served: Parameters<SessionTable['saveServed']>): void {
    this.sessions.saveServed(...served);
  }

  flushed(): Promise<void> {
    return this.#log.flush();
  }

  /** The log, for whoever looks after it. */
  get log(): StoreLog {
    return this.#log;
  }

  close(): void {
    this.#log.close();
    this.db.close();
  }
}
