import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SUMMARY_TABLES, threadOf } from '../import/codex-home.js';
import { codexEnv, conversationPlace, layConversation, shellOf, sqlOf } from './codex-person.js';
import { Person, until } from './person.js';

const TIMEOUT_MS = 240_000;
const DATABASE = 'memories_v2_1.sqlite';
const LONG_AGO = '202001010000';

let person: Person;

beforeEach(async () => {
  person = await Person.make();
  await shellOf(person, 'mkdir -p "$1/.codex" "$1/two" "$1/bin"', person.user.home);
});

afterEach(async () => {
  await person.mend(['unmount', '--all', '--force']);
  await person.user.remove();
});

const shell = (script: string, ...args: string[]): Promise<string> => shellOf(person, script, ...args);
const row = (of: number, says: string, time: number): string =>
  `INSERT OR REPLACE INTO stage1_outputs (thread_id, source_updated_at, raw_memory, rollout_summary, generated_at)
   VALUES ('${threadOf(of)}', ${time}, '', '${says}', ${time});`;

it(
  'what a shared session did in the home of its Codex is not read back: neither what it deleted nor what it dated back',
  async () => {
    const home = (await codexEnv(person)).environment['CODEX_HOME'] ?? '';
    const now = Math.floor(Date.now() / 1000);
    const rows = [1, 2, 3].map((of) => row(of, `own ${of}`, now - 3600)).join('');
    await sqlOf(person, join(home, DATABASE), SUMMARY_TABLES.replaceAll('@made', "'2026-01-01 00:00:00'") + rows);
    for (const of of [1, 2]) await layConversation(person, home, of, ['own'], '202611282100');
    await codexEnv(person);
    // A program that waits.
    const script = `#!/bin/sh\n: >"$HOME/started"; while ! test -e "$HOME/end"; do sleep 0.1; done\n`;
    await shell('printf "%s" "$2" >"$1/codex"; chmod 755 "$1/codex"', join(person.user.home, 'bin'), script);
    const env = { PATH: `${join(person.user.home, 'bin')}:${process.env['PATH']}` };
    const running = person.mend(['run', '--session', 'several', 'codex'], { env });
    await until(() => existsSync(join(person.user.home, 'started')));
    await person.done('session', 'share', 'several');
    const drop = `DELETE FROM stage1_outputs WHERE thread_id = '${threadOf(1)}';`;
    await sqlOf(
      person,
      join(home, DATABASE),
      `${drop} ${row(2, 'shared', now - 3600)} ${row(4, 'shared', 1_600_000_000)}`,
    );
    await shell('rm "$1"', join(home, conversationPlace(1)));
    for (const of of [2, 4]) await layConversation(person, home, of, ['shared'], LONG_AGO);
    const lay = 'mkdir -p "$1"; echo shared >"$1/MEMORY.md"; touch -t "$2" "$1/MEMORY.md"';
    // Whoever takes the mount off by force leaves it the plain folder.
    expect((await person.mend(['unmount', '--all', '--force'])).code).toBe(0);
    await shell(lay, join(home, 'memories_v2'), LONG_AGO);
    await codexEnv(person);
    expect(await person.json('memory')).toEqual([]);
    for (const folder of ['memories', 'other-memories/memories.1']) await shell(lay, join(home, folder), LONG_AGO);
    await shell(': >"$1"', join(person.user.home, 'end'));
    await running;
    await person.done('session', 'end', 'several');
    const two = await codexEnv(person, { home: join(person.user.home, 'two') });
    await codexEnv(person);
    expect(await person.json('memory')).toEqual([]);
    const says = (folder: string) =>
      sqlOf<{ rollout_summary: string }>(
        person,
        join(folder, DATABASE),
        '',
        'SELECT rollout_summary FROM stage1_outputs ORDER BY thread_id',
      ).then((found) => found.map(({ rollout_summary }) => rollout_summary));
    const other = two.environment['CODEX_HOME'] ?? '';
    expect(await says(other)).toEqual(['own 1', 'own 2', 'own 3']);
    for (const of of [1, 2])
      expect(readFileSync(join(other, conversationPlace(of)), 'utf8')).toContain('{"says":"own"}');
    expect(existsSync(join(other, conversationPlace(4)))).toBe(false);
    // What was deleted is there again, and what it wrote is still its home's.
    expect(readFileSync(join(home, conversationPlace(1)), 'utf8')).toContain('{"says":"own"}');
    expect(await says(home)).toEqual(['own 1', 'shared', 'own 3', 'shared']);
    expect(await shell('cd "$1" && cat withheld-memories/*/MEMORY.md', home)).toBe('shared\nshared\nshared\n');
  },
  TIMEOUT_MS,
);
