import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SUMMARY_TABLES, threadOf } from '../import/codex-home.js';
import { codexEnv, shellOf, sqlOf } from './codex-person.js';
import { Person } from './person.js';

const TIMEOUT_MS = 240_000;
const DAY = 24 * 60 * 60;

let person: Person;
/** Seconds since the epoch. */
let now: number;

beforeEach(async () => {
  person = await Person.make();
  now = Math.floor(Date.now() / 1000);
  await shellOf(person, 'mkdir -p "$1/.codex" "$1/two" "$1/three"', person.user.home);
});

afterEach(async () => {
  await person.mend(['unmount', '--all', '--force']);
  await person.user.remove();
});

/** A home of the person's, with what Codex's database there says after it was changed. */
class Home {
  readonly #home: string;

  constructor(name: string) {
    this.#home = join(person.user.home, name);
  }

  /** Has mend bring what it has, and Codex do something; mend is told of it with the next `mend env`. */
  async use(statements = ''): Promise<Record<string, string>> {
    const { environment } = await codexEnv(person, { home: this.#home });
    const rows = await sqlOf<{ thread_id: string; rollout_summary: string }>(
      person,
      join(environment['CODEX_HOME'] ?? '', 'memories_v2_1.sqlite'),
      statements,
      'SELECT thread_id, rollout_summary FROM stage1_outputs ORDER BY 1',
    );
    await codexEnv(person, { home: this.#home });
    return Object.fromEntries(rows.map((row) => [row.thread_id.slice(-1), row.rollout_summary]));
  }
}

/** What Codex does at its start with what nobody has used for 30 days. */
const prune = (): string =>
  `DELETE FROM stage1_outputs WHERE selected_for_phase2 = 0 AND COALESCE(last_usage, source_updated_at) < ${now - 30 * DAY}`;
const cites = (of: number): string =>
  `UPDATE stage1_outputs SET usage_count = COALESCE(usage_count, 0) + 1, last_usage = ${now} WHERE thread_id = '${threadOf(of)}'`;

it(
  'what Codex drops in one home since it was not used there for long stays with all others, and is not brought back',
  async () => {
    const [one, two, three] = [new Home(''), new Home('two'), new Home('three')];
    const values = [60, 60, 60, 1].map(
      (days, i) => `('${threadOf(i + 1)}', ${now - days * DAY}, '', 'said ${i + 1}', ${now - days * DAY})`,
    );
    const tables = SUMMARY_TABLES.replaceAll('@made', "'2026-01-01 00:00:00'");
    await one.use(
      `${tables} INSERT INTO stage1_outputs (thread_id, source_updated_at, raw_memory, rollout_summary, generated_at) VALUES ${values.join()}`,
    );
    const all = { 1: 'said 1', 2: 'said 2', 3: 'said 3', 4: 'said 4' };
    expect(await two.use(cites(2))).toEqual(all);
    // The first home learns that one of them was used elsewhere.
    expect(await one.use(prune())).toEqual({ 2: 'said 2', 4: 'said 4' });
    expect(await two.use()).toEqual(all);
    expect(await three.use(cites(3))).toEqual(all);
    // What is used again is of interest there, too.
    expect(await one.use(prune())).toEqual({ 2: 'said 2', 3: 'said 3', 4: 'said 4' });
    // What Codex drops that is not so old is a removal.
    await one.use(`DELETE FROM stage1_outputs WHERE thread_id = '${threadOf(4)}'`);
    expect(await two.use()).toEqual({ 1: 'said 1', 2: 'said 2', 3: 'said 3' });
  },
  TIMEOUT_MS,
);
