import type Database from 'better-sqlite3';
import type { Project } from './projects.js';

/** A project that something is recorded of about a plain folder. */
export interface FolderRecord {
  readonly project: Project;
  readonly tree: number;
}

/** A folder that was mounted on. */
export interface MountedFolder extends FolderRecord {
  readonly folder: string;
  readonly checkout: string;
}

const PROJECT = 'p.id, p.name, p.created, t.id AS tree';

interface Row extends Project {
  readonly tree: number;
}

interface MountedRow extends Row {
  readonly folder: string;
  readonly checkout: string;
}

/** What the store knows of plain memory folders of a machine: which trees they were mounted for, and exchanged with. */
export class FolderRecords {
  readonly #db: Database.Database;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  /** The projects whose memory was exchanged with a folder. */
  exchanged(machine: number, folder: string): FolderRecord[] {
    const rows = this.#db.prepare<[number, string], Row>(
      `SELECT DISTINCT ${PROJECT} FROM import_base i JOIN tree t ON t.id = i.tree JOIN project p ON p.id = t.project
       WHERE i.machine = ? AND i.folder = ? ORDER BY t.id`,
    );
    return rows.all(machine, folder).map(({ tree, ...project }) => ({ project, tree }));
  }

  /** The mounts that were made on a folder, newest first. */
  mounted(machine: number, folder: string): MountedFolder[] {
    return this.#mounts('m.path = ?', machine, folder);
  }

  /** The folders that were mounted for a checkout. */
  mountedFor(machine: number, checkout: string, harness: string): MountedFolder[] {
    return this.#mounts('m.checkout = ? AND t.harness = ?', machine, checkout, harness);
  }

  #mounts(condition: string, machine: number, ...values: string[]): MountedFolder[] {
    const rows = this.#db.prepare<unknown[], MountedRow>(
      `SELECT ${PROJECT}, m.path AS folder, m.checkout FROM mount m
       JOIN tree t ON t.id = m.tree JOIN project p ON p.id = t.project
       WHERE m.machine = ? AND ${condition} ORDER BY m.id DESC`,
    );
    return rows.all(machine, ...values).map(({ tree, folder, checkout, ...project }) => ({
      ...{ project, tree, folder, checkout },
    }));
  }

  /** The folders of a machine that the trees of a project were exchanged with. */
  foldersOf(machine: number, project: number): string[] {
    return this.#db
      .prepare<[number, number], string>(
        `SELECT DISTINCT i.folder FROM import_base i JOIN tree t ON t.id = i.tree
         WHERE i.machine = ? AND t.project = ? ORDER BY i.folder`,
      )
      .pluck()
      .all(machine, project);
  }

  /** Takes what is recorded of exchanges of a tree with a folder to another folder, where its files are now. */
  moveExchanges(machine: number, tree: number, from: string, to: string): void {
    for (const table of EXCHANGES)
      this.#db
        .prepare(`UPDATE ${table} SET folder = ? WHERE machine = ? AND tree = ? AND folder = ?`)
        .run(to, machine, tree, from);
  }

  /** Forgets the exchanges of a tree with a folder that has no files. */
  forgetExchanges(machine: number, tree: number, folder: string): void {
    for (const table of EXCHANGES)
      this.#db.prepare(`DELETE FROM ${table} WHERE machine = ? AND tree = ? AND folder = ?`).run(machine, tree, folder);
  }
}

/** Tables with rows for one folder and tree. */
const EXCHANGES = ['import_base', 'import_dispute'] as const;
