import { join } from 'node:path';
import { expect } from 'vitest';
import { projectSlug } from '../../src/harness/project-slug.js';
import { expectRefusal, Person } from './person.js';

/** A person with notes of the project-memory convention for the repository. */
export class NotesPerson {
  readonly person: Person;
  readonly repository: string;
  /** `~/.codex/memory`. */
  readonly root: string;
  /** The folder of the repository's note. */
  readonly notes: string;
  readonly archive: string;

  private constructor(person: Person) {
    this.person = person;
    this.repository = person.repository;
    this.root = join(person.user.home, '.codex/memory');
    this.notes = this.folderOf(this.repository);
    this.archive = this.folderOf(this.repository, 'archive');
  }

  static async make(repository?: string): Promise<NotesPerson> {
    return new NotesPerson(await Person.make(repository));
  }

  folderOf(checkout: string, part = 'projects'): string {
    return join(this.root, part, projectSlug(checkout));
  }

  /** Runs a shell script that must succeed, with the folders as `$N`, `$A` and the repository as `$R`. */
  async shell(script: string, env: Record<string, string> = {}): Promise<string> {
    const result = await this.person.user.run(['sh', '-euc', script], {
      env: { N: this.notes, A: this.archive, R: this.repository, ...env },
    });
    expect(result, script).toMatchObject({ code: 0, stderr: '' });
    return result.stdout;
  }

  /** Lays a note into the plain folder of the repository. */
  async lay(text: string): Promise<void> {
    await this.shell('umask 077; mkdir -p "$N"; printf %s "$T" > "$N/memory.md"', { T: text });
  }

  /** The files of the list, without those of Claude Code. */
  async listed(): Promise<string[]> {
    const rows = await this.person.json<{ harness: string; file: string }[]>('memory');
    return rows.filter(({ harness }) => harness !== 'claude').map(({ harness, file }) => `${harness}:${file}`);
  }

  /** A command that is refused with status 1, in one sentence. */
  async refused(args: readonly string[], sentence: RegExp): Promise<void> {
    expectRefusal(await this.person.mend(args), 1, sentence);
  }
}

/** A note as the convention has it. */
export function note(checkout: string, ...decisions: readonly string[]): string {
  const lines = decisions.map((decision) => `- ${decision}\n`).join('');
  return `# Project memory\n\nProject: ${checkout}\nUpdated: 2026-01-01\n\n## Durable decisions\n${lines}`;
}
