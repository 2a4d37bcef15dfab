import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pathOf } from '../../src/import/codex/summary-file.js';
import { SUMMARY_TABLES, threadOf } from '../import/codex-home.js';
import { codexEnv, layConversation, shellOf, sqlOf } from './codex-person.js';
import { Person } from './person.js';
import { filesWith } from './store-files.js';

const TIMEOUT_MS = 240_000;
const SECRET = 'xyzzy-plugh-4711';
/** As Codex names it. */
const FILE = pathOf({ thread: threadOf(1), updated: 0, row: JSON.stringify({ rollout_slug: 'water' }) });
const NAME = `codex:${FILE}`;

let person: Person;
/** Seconds since the epoch. */
let now: number;
let home: string;
let memory: string;

beforeEach(async () => {
  person = await Person.make();
  now = Math.floor(Date.now() / 1000);
  await shellOf(person, 'mkdir -p "$1/.codex" "$1/two"', person.user.home);
  const prepared = await codexEnv(person);
  home = prepared.environment['CODEX_HOME'] ?? '';
  memory = prepared.memory;
  await sqlOf(person, database(), SUMMARY_TABLES.replaceAll('@made', "'2026-01-01 00:00:00'"));
});

afterEach(async () => {
  await person.mend(['unmount', '--all', '--force']);
  await person.user.remove();
});

const database = (of = home): string => join(of, 'memories_v2_1.sqlite');
const header = (time: number): string =>
  `thread_id: ${threadOf(1)}\nupdated_at: ${new Date(time * 1000).toISOString().slice(0, 19)}+00:00\n\n`;

/** Has Codex sum up the conversation, in its database and in the file. */
async function sumUp(says: string, time: number): Promise<void> {
  const values = `('${threadOf(1)}', ${time}, 'noted', '${says}', 'water', ${time})`;
  const columns = 'thread_id, source_updated_at, raw_memory, rollout_summary, rollout_slug, generated_at';
  await sqlOf(person, database(), `INSERT OR REPLACE INTO stage1_outputs (${columns}) VALUES ${values}`);
  await layFile(says, time);
  await codexEnv(person);
}

async function layFile(says: string, time: number): Promise<void> {
  const script = 'mkdir -p "$(dirname "$1")"; printf "%s\\n" "$2" >"$1"';
  await shellOf(person, script, join(memory, FILE), `${header(time)}${says}`);
}

/** What the database of a home says of the conversation, once mend has brought there what it has. */
async function known(at?: string): Promise<readonly string[]> {
  const { environment } = await codexEnv(person, at === undefined ? {} : { home: at });
  const query = 'SELECT rollout_summary FROM stage1_outputs';
  const rows = await sqlOf<{ rollout_summary: string }>(person, database(environment['CODEX_HOME']), '', query);
  return rows.map(({ rollout_summary }) => rollout_summary);
}

describe('a version of a summary that is restored lasts', () => {
  it(
    'in every home, and after it was removed',
    async () => {
      await sumUp('twice a day', now - 7200);
      await sumUp('once a day', now - 3600);
      const two = join(person.user.home, 'two');
      expect(await known(two)).toEqual(['once a day']);
      await person.done('memory', 'restore', NAME, '--version', '1');
      expect(await known()).toEqual(['twice a day']);
      expect(await known(two)).toEqual(['twice a day']);
      expect(await known()).toEqual(['twice a day']);
      await person.done('memory', 'rm', NAME);
      expect(await known()).toEqual([]);
      expect(await known(two)).toEqual([]);
      await person.done('memory', 'restore', NAME, '--version', '2');
      for (const at of [undefined, two, undefined]) expect(await known(at)).toEqual(['once a day']);
      expect(await person.done('memory', 'show', NAME)).toBe(`${header(now - 3600)}once a day\n`);
    },
    TIMEOUT_MS,
  );
});

describe('a purge of a summary leaves nothing of it', () => {
  /** In the store's files; homes lie beside them. */
  const traces = (): string[] => filesWith(person.store, SECRET).filter((name) => !name.startsWith('homes/'));

  it(
    'in what Codex knows, also where the file has an older one, and it does not come back',
    async () => {
      await sumUp(`the key is ${SECRET}`, now - 3600);
      await layFile(`an older ${SECRET}`, now - 7200);
      await person.done('store', 'backup');
      await person.done('unmount');
      expect(traces()).not.toEqual([]);
      expect((await person.mend(['memory', 'purge', NAME, '--confirm', NAME])).stderr).not.toMatch(/keeps|traces/);
      expect(traces()).toEqual([]);
      expect(await known()).toEqual([]);
      await person.rest();
      expect(traces()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'of a single version',
    async () => {
      await sumUp(`the key is ${SECRET}`, now - 3600);
      await layFile('watered by hand', now - 3600);
      await person.done('unmount');
      await person.mend(['memory', 'purge', NAME, '--version', '1', '--confirm', NAME]);
      expect(traces()).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

it(
  'to forget a project names its whole home, which is no other project’s later',
  async () => {
    await sumUp('twice a day', now - 3600);
    await layConversation(person, home, 1, ['said'], '202611282100');
    await person.done('unmount');
    const told = await person.done('project', 'forget', 'garden', '--confirm', 'garden');
    expect(told).toContain(`${home} stays as it is, with the conversations that were held in it`);
    expect(told).not.toContain(`${memory} `);
    expect(existsSync(home)).toBe(true);
    expect(dirname((await codexEnv(person)).memory)).not.toBe(home);
    expect(await person.json('memory')).toEqual([]);
  },
  TIMEOUT_MS,
);
