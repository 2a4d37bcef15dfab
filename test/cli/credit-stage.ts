import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, inject } from 'vitest';
import { type ManifestJson, type ReadingJson, readingJson, worktreeJson } from '../import/credit-manifest.js';
import { programPath } from '../support/program.js';
import { currentUser, type RunResult, type TestUser } from '../support/users.js';
import { Person } from './person.js';

const REMOTE = 'git@example.org:garden/beds.git';

/** What `mend credit --json` says of a reading. */
export interface CreditEntry {
  reading: string;
  outcome: string;
  person: string | null;
  outcomes: Record<string, number>;
  uncredited: number | null;
  credited_before: number;
}

/** An administrator with readings that only root may read, and people with checkouts of one project. */
export class CreditStage {
  readonly root: TestUser = currentUser();
  readonly system: string;
  readonly readings: string;
  readonly people: Person[] = [];
  readonly manifest: ManifestJson = {
    ...{ version: 1, organisation: { id: 'garden', members: [] }, people: [], worktrees: [] },
  };

  constructor() {
    const folder = mkdtempSync(join(inject('runFolder'), 'credit-'));
    chmodSync(folder, 0o755);
    this.system = join(folder, 'system');
    this.readings = join(folder, 'readings');
    mkdirSync(this.readings, { mode: 0o700 });
  }

  /** A person whom the manifest knows by an id. */
  async person(id: string): Promise<Person> {
    const person = await Person.make('beds');
    this.people.push(person);
    await person.user.run(['git', '-C', person.repository, 'remote', 'add', 'origin', REMOTE]);
    this.manifest.people.push({ id, user: person.user.name });
    this.manifest.organisation.members.push(id);
    return person;
  }

  /** A worktree with one final reading in a home of somebody's, and its files by name. */
  worktree(id: string, owner: string | null, files: Record<string, string>): ReadingJson {
    const reading = this.reading(`r-${id}`, files);
    const homes = owner === null ? [] : [{ id: 'h1', person: owner, state: 'settled', workspace: 's1' }];
    const worktree = { ...worktreeJson(), id, homes, sessions: { deleted_kept: true, list: [] }, readings: [reading] };
    this.manifest.worktrees.push(worktree);
    if (owner === null) reading.home = null;
    return reading;
  }

  reading(id: string, files: Record<string, string>): ReadingJson {
    const folder = join(this.readings, id);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    return { ...readingJson(), id, folder };
  }

  /** Runs the command as root. */
  credit(...options: string[]): Promise<RunResult> {
    return this.root.run([process.execPath, programPath(), 'credit', this.write(), ...options], { env: this.env });
  }

  /** The same as one JSON document, which must end with a status. */
  async entries(status: number, ...options: string[]): Promise<CreditEntry[]> {
    const result = await this.credit('--json', ...options);
    expect(result, result.stdout + result.stderr).toMatchObject({ code: status });
    return (JSON.parse(result.stdout) as { readings: CreditEntry[] }).readings;
  }

  /** Writes the manifest, for everybody to read. */
  write(): string {
    const path = join(this.readings, '../manifest.json');
    writeFileSync(path, JSON.stringify(this.manifest), { mode: 0o644 });
    return path;
  }

  get env(): Record<string, string> {
    return { MEND_SYSTEM_DIR: this.system };
  }

  /** What a person's command prints on standard output. */
  async says(person: Person, ...args: string[]): Promise<string> {
    const result = await person.mend(args, { env: this.env });
    expect(result, args.join(' ')).toMatchObject({ code: 0 });
    return result.stdout;
  }

  async remove(): Promise<void> {
    for (const person of this.people) await person.remove();
    await this.root.remove();
  }
}
