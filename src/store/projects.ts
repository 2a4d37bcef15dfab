import type { Database } from 'better-sqlite3';

/** A machine as the store knows it: a stable id and the host name it had last. */
export interface MachineIdentity {
  readonly machineId: string;
  readonly name: string;
}

/** `machine` of an alias that means the same on every machine. */
export const EVERYWHERE = 0;

/** One thing that identifies a project: a remote, or a path on one machine (a row id of `machine`). */
export interface ProjectAlias {
  readonly kind: 'remote' | 'path';
  readonly machine: number;
  readonly value: string;
}

export interface Project {
  readonly id: number;
  readonly name: string;
  /** Microseconds since the epoch. */
  readonly created: number;
}

/** An alias as it is recorded. */
export interface RecordedAlias extends ProjectAlias {
  /** Of a path: the remote that it overrules, since a person said so (`settlePath`). */
  readonly settled: string | null;
}

/** A project with what identifies it, as `mend project list` shows it. */
export interface ProjectListing extends Project {
  readonly remotes: readonly string[];
  /** Paths on the machine asked for. */
  readonly paths: readonly string[];
}

/** The names a new project may take, best first; the last one gets a numbered suffix when all are taken. */
export type NameChoices = readonly [string, ...string[]];

const LAST_SUFFIX = 1_000_000;
/** Key in `meta`: the newest id that a project which is gone had. Ids are not used again: a daemon may still hold one. */
const LAST_GONE = 'last_gone_project';

/** Finds or adds the row of a machine and keeps its host name current. Returns the row id, which is never 0. */
export function ensureMachine(db: Database, identity: MachineIdentity): number {
  const find = db.prepare<[string], { id: number; name: string }>('SELECT id, name FROM machine WHERE machine_id = ?');
  const known = find.get(identity.machineId);
  if (known?.name === identity.name) return known.id;
  const row = db
    .prepare<[string, string], { id: number }>(
      `INSERT INTO machine (machine_id, name) VALUES (?, ?)
       ON CONFLICT (machine_id) DO UPDATE SET name = excluded.name RETURNING id`,
    )
    .get(identity.machineId, identity.name);
  if (row === undefined) throw new Error('machine: the insert returned no row');
  return row.id;
}

/**
 * The tables `project` and `project_alias`. Methods that write expect the caller's transaction
 * (`immediate`), so that a check and the change that follows from it are one step.
 */
export class ProjectTable {
  readonly #db: Database;
  readonly #byAlias;
  readonly #byName;
  readonly #insert;
  readonly #insertAlias;
  readonly #aliases;
  readonly #all;
  readonly #settlePath;
  readonly #settled;
  readonly #unsettle;

  constructor(db: Database) {
    this.#db = db;
    this.#byAlias = db.prepare<[string, number, string], Project>(
      `SELECT p.id, p.name, p.created FROM project_alias a JOIN project p ON p.id = a.project
       WHERE a.kind = ? AND a.machine = ? AND a.value = ?`,
    );
    this.#byName = db.prepare<[string], Project>('SELECT id, name, created FROM project WHERE name = ?');
    this.#insert = db.prepare<[{ name: string; created: number }]>(
      `INSERT INTO project (id, name, created) SELECT
         1 + max(coalesce((SELECT max(id) FROM project), 0),
                 coalesce((SELECT value FROM meta WHERE key = '${LAST_GONE}'), 0)), @name, @created`,
    );
    this.#insertAlias = db.prepare<[string, number, string, number]>(
      'INSERT INTO project_alias (kind, machine, value, project) VALUES (?, ?, ?, ?)',
    );
    this.#aliases = db.prepare<[number], RecordedAlias>(
      'SELECT kind, machine, value, settled FROM project_alias WHERE project = ? ORDER BY kind, machine, value',
    );
    this.#settlePath = db.prepare<[number, string, number, string | null]>(
      `INSERT INTO project_alias (kind, machine, value, project, settled) VALUES ('path', ?, ?, ?, ?)
       ON CONFLICT (kind, machine, value) DO UPDATE SET project = excluded.project, settled = excluded.settled`,
    );
    this.#settled = db.prepare<[number, string], Project & { path: string }>(
      `SELECT p.id, p.name, p.created, a.value AS path FROM project_alias a JOIN project p ON p.id = a.project
       WHERE a.kind = 'path' AND a.machine = ? AND a.settled = ? ORDER BY a.value`,
    );
    this.#unsettle = db.prepare<[number, string]>(
      "UPDATE project_alias SET settled = NULL WHERE kind = 'path' AND machine = ? AND value = ?",
    );
    this.#all = db.prepare<[], Project>('SELECT id, name, created FROM project ORDER BY name');
  }

  /** Runs `work` in a write transaction, or within the one that is open already. */
  immediate<T>(work: () => T): T {
    return this.#db.inTransaction ? work() : this.#db.transaction(work).immediate();
  }

  find(alias: ProjectAlias): Project | undefined {
    return this.#byAlias.get(alias.kind, alias.machine, alias.value);
  }

  byName(name: string): Project | undefined {
    return this.#byName.get(name);
  }

  byId(id: number): Project | undefined {
    return this.#db.prepare<[number], Project>('SELECT id, name, created FROM project WHERE id = ?').get(id);
  }

  /** What identifies a project, remotes of every machine included. */
  aliases(project: number): RecordedAlias[] {
    return this.#aliases.all(project);
  }

  /** The projects that a path is known for, on whatever machines. */
  pathOwners(path: string): { readonly machine: number; readonly project: number; readonly name: string }[] {
    return this.#db
      .prepare<[string], { machine: number; project: number; name: string }>(
        `SELECT a.machine, p.id AS project, p.name FROM project_alias a JOIN project p ON p.id = a.project
         WHERE a.kind = 'path' AND a.value = ? ORDER BY a.machine`,
      )
      .all(path);
  }

  /** Adds a project under the first free name. `created` is in microseconds since the epoch. */
  create(names: NameChoices, created: number): Project {
    const name = this.#freeName(names);
    return { id: Number(this.#insert.run({ name, created }).lastInsertRowid), name, created };
  }

  /** Adds an alias. It may be there already for the same project; another project's alias is a constraint error. */
  addAlias(project: number, alias: ProjectAlias): void {
    if (this.find(alias)?.id === project) return;
    this.#insertAlias.run(alias.kind, alias.machine, alias.value, project);
  }

  /** Gives a project another name; one that is taken is a constraint error. */
  rename(project: number, name: string): void {
    this.#db.prepare('UPDATE project SET name = ? WHERE id = ?').run(name, project);
  }

  /** Gives a path of a machine to a project, whatever it belonged to. While its remote is `origin`, it overrules that. */
  settlePath(project: number, machine: number, path: string, origin: string | null): void {
    this.#settlePath.run(machine, path, project, origin);
  }

  /** The paths of a machine that overrule a remote, each with its project. */
  settledPaths(machine: number, origin: string): { readonly path: string; readonly project: Project }[] {
    return this.#settled.all(machine, origin).map(({ path, ...project }) => ({ path, project }));
  }

  /** Has a path overrule its remote no more. */
  unsettlePath(machine: number, path: string): void {
    this.#unsettle.run(machine, path);
  }

  /** Takes an alias away. */
  removeAlias({ kind, machine, value }: ProjectAlias): void {
    this.#db
      .prepare('DELETE FROM project_alias WHERE kind = ? AND machine = ? AND value = ?')
      .run(kind, machine, value);
  }

  /** True when a project has, and had, no file of memory. */
  isEmpty(project: number): boolean {
    const found = this.#db.prepare(
      `SELECT 1 FROM tree t WHERE t.project = ? AND (EXISTS (SELECT 1 FROM version v WHERE v.tree = t.id)
         OR EXISTS (SELECT 1 FROM node n WHERE n.tree = t.id AND n.mount = 0 AND n.parent IS NOT NULL))`,
    );
    return found.get(project) === undefined;
  }

  /** Deletes a project that has no tree any more, with its aliases. */
  remove(project: number): void {
    this.#db.prepare('DELETE FROM project WHERE id = ?').run(project);
    this.#db
      .prepare(
        `INSERT INTO meta (key, value) VALUES ('${LAST_GONE}', ?)
         ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)`,
      )
      .run(project);
  }

  /** All projects by name, with their shared remotes and their paths on the machine given (a row id). */
  list(machine: number): ProjectListing[] {
    return this.#all.all().map((project) => {
      const aliases = this.aliases(project.id);
      const values = (kind: ProjectAlias['kind'], where: number) =>
        aliases.filter((alias) => alias.kind === kind && alias.machine === where).map((alias) => alias.value);
      return { ...project, remotes: values('remote', EVERYWHERE), paths: values('path', machine) };
    });
  }

  #freeName(names: NameChoices): string {
    const free = names.find((name) => this.byName(name) === undefined);
    if (free !== undefined) return free;
    const last = names[names.length - 1];
    for (let suffix = 2; suffix < LAST_SUFFIX; suffix++) {
      const name = `${last}-${suffix}`;
      if (this.byName(name) === undefined) return name;
    }
    throw new Error(`project: no free name for ${last}`);
  }
}
