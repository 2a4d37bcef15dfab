import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SUMMARY_TABLES } from '../import/codex-home.js';
import { codexEnv, shellOf, sqlOf } from './codex-person.js';
import { Person } from './person.js';

const TIMEOUT_MS = 240_000;

let person: Person;

beforeEach(async () => {
  person = await Person.make();
  await shellOf(person, 'mkdir -p "$1/.codex" "$1/.config/mend"', person.user.home);
});

afterEach(async () => {
  await person.mend(['unmount', '--all', '--force']);
  await person.user.remove();
});

it(
  'how large a database of summaries may be is a setting',
  async () => {
    const { environment } = await codexEnv(person);
    const home = environment['CODEX_HOME'] ?? '';
    await sqlOf(
      person,
      join(home, 'memories_v2_1.sqlite'),
      SUMMARY_TABLES.replaceAll('@made', "'2026-01-01 00:00:00'"),
    );
    await codexEnv(person);
    await person.rest();
    const settings = join(person.user.home, '.config/mend/config.yaml');
    await shellOf(person, 'printf "codex:\\n  summary_bytes: 8192\\n" >"$1"', settings);
    const refused = await person.mend(['env', 'codex']);
    expect(refused.stderr).toMatch(/^mend: left out memories_v2_1\.sqlite: it is over the limit of 8192 bytes .*\n$/);
    expect(refused.code).toBe(3);
  },
  TIMEOUT_MS,
);
