import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SUMMARY_TABLES } from '../import/codex-home.js';
import { examined, expectFault, faults } from './doctor.js';
import { expectRefusal, Person } from './person.js';

const SQLITE = new URL('../../node_modules/better-sqlite3/lib/index.js', import.meta.url).pathname;
const LONG = 150_000;

let person: Person;
let home: string;
let path: string;

beforeAll(async () => {
  person = await Person.make();
  path = `${join(person.user.home, 'bin')}:${process.env['PATH']}`;
  await shell(`mkdir bin; printf '#!/bin/sh\\necho started\\n' >bin/codex; chmod 755 bin/codex`);
  expect(await mend('run', 'codex')).toMatchObject({ code: 0, stdout: 'started\n', stderr: '' });
  const { stdout } = await mend('env', 'codex', '--json');
  home = (JSON.parse(stdout) as { environment: { CODEX_HOME: string } }).environment.CODEX_HOME;
  await person.done('unmount', '--all');
});

afterAll(() => person.remove());

beforeEach(() => shell('cp -a .codex codex.kept; cp -a "$0" home.kept'));
afterEach(async () => {
  await person.mend(['unmount', '--all']);
  await shell(`test -L .codex || chmod 700 .codex; rm -rf .codex "$0"; mv codex.kept .codex; mv home.kept "$0"`);
});

/** Runs a shell script in the person's home folder, with the Codex home of the project as `$0`. */
async function shell(script: string): Promise<string> {
  const result = await person.user.run(['sh', '-euc', script, home ?? '']);
  expect(result, script).toMatchObject({ code: 0 });
  return result.stdout;
}

const mend = (...args: string[]) => person.mend(args, { env: { PATH: path } });

describe('a home that cannot be used is refused with one sentence, which the doctor has, too', () => {
  test.each([
    [
      'a file in the place of the user’s',
      'rm -rf .codex; echo >.codex',
      /home \S+\.codex, with [^:]*, is not a folder: move/,
    ],
    ['the user’s without any right', 'chmod 000 .codex', /home \S+\.codex, with [^:]*, cannot be read: give yourself/],
    [
      'a link that leads nowhere',
      'rm -rf .codex; ln -s /no/where .codex',
      /is a link that leads nowhere: put a folder/,
    ],
    [
      'a link in the place of the project’s',
      'rm -rf other; mv "$0" other; ln -s "$PWD/other" "$0"',
      /codex\/1-\w+ that mend made is a symbolic link: put/,
    ],
    [
      'a file in the place of the project’s',
      'rm -rf "$0"; echo >"$0"',
      /codex\/1-\w+ that mend made is no folder: put/,
    ],
  ])(
    '%s',
    async (_, script, sentence) => {
      await shell(script);
      for (const args of [
        ['env', 'codex'],
        ['run', 'codex'],
        ['mount', '--harness', 'codex'],
      ])
        expectRefusal(await mend(...args), 1, sentence);
      expectFault(await examined(person), new RegExp(`^problem agent-homes: .*${sentence.source}`));
    },
    LONG,
  );

  test(
    'one that cannot be written to is no reason not to start, and is said',
    async () => {
      await shell('chmod 500 .codex');
      const sentence = /^mend: Codex's home \S+ cannot be written to, so no login can be kept there: [^\n]+\n$/;
      const env = await mend('env', 'codex');
      expect(env).toMatchObject({ code: 3, stdout: expect.stringContaining('CODEX_HOME=') });
      expect(env.stderr).toMatch(sentence);
      const run = await mend('run', 'codex');
      expect(run).toMatchObject({ code: 0, stdout: 'started\n' });
      expect(run.stderr).toMatch(sentence);
      expect(await mend('mount', '--harness', 'codex')).toMatchObject({ code: 3 });
      expectFault(await examined(person), /^problem agent-homes: Codex's home \S+ cannot be written to/);
    },
    LONG,
  );
});

describe('a database that cannot be taken is named once by each command', () => {
  const fill = `const db = new (require(${JSON.stringify(SQLITE)}))(process.argv[1]);
    db.exec(${JSON.stringify(SUMMARY_TABLES.replaceAll('@made', "'2026-11-30'"))});
    const put = db.prepare("INSERT INTO stage1_outputs (thread_id, source_updated_at, raw_memory, rollout_summary, generated_at) VALUES (?, 1, ?, 's', 1)");
    for (let i = 0; i < 17; i++) put.run(String(i), 'x'.repeat(1e6));`;

  test.each([
    ['is no database', 'head -c 20000 /dev/urandom >"$D"', /it is damaged: move it away/],
    [
      'is damaged',
      `"$N" -e '${fill.replaceAll("'", "'\\''").replace('1e6', '1e4')}' "$D"; dd if=/dev/zero of="$D" bs=4096 seek=6 count=20 conv=notrunc status=none`,
      /it is damaged: move it away/,
    ],
    ['is over the limit', `"$N" -e '${fill.replaceAll("'", "'\\''")}' "$D"`, /it is over the limit of 16777216 bytes/],
    ['is a folder', 'mkdir "$D"', /it is not a file: move it away/],
    ['may not be read', 'echo >"$D"; chmod 000 "$D"', /it cannot be read: make/],
  ])(
    'that %s',
    async (_, script, reason) => {
      await shell(`D="$0/memories_v2_1.sqlite" N=${process.execPath}; ${script}`);
      const said = new RegExp(`^mend: left out memories_v2_1\\.sqlite: ${reason.source}[^\\n]*\\n$`);
      for (const [args, code] of [
        [['env', 'codex'], 3],
        [['run', 'codex'], 0],
        [['mount', '--harness', 'codex'], 3],
      ] as const) {
        const result = await mend(...args);
        expect(result, args.join(' ')).toMatchObject({ code });
        expect(result.stderr).toMatch(said);
      }
      const status = await mend('status');
      expect(status.code).toBe(0);
      expect(status.stderr).toMatch(
        new RegExp(`^mend: memories_v2_1\\.sqlite of project "garden" is left out: ${reason.source}[^\\n]*\\n$`),
      );
      expectFault(
        await examined(person),
        new RegExp(`^problem agent-homes: \\S+memories_v2_1\\.sqlite ${reason.source.slice(3)}`),
      );
    },
    LONG,
  );
});

test(
  'settings that the user makes later are linked with the next start; those that a home has itself are named',
  async () => {
    const links = () => shell('cd "$0"; find . -type l | sort | tr "\\n" " "');
    expect(await links()).toBe('./.credentials.json ./auth.json ./config.toml ');
    // What Codex writes goes to the user, who has none yet; it puts skills of its own into the home.
    await shell(
      'echo "a = 1" >"$0/config.toml"; cat .codex/config.toml; mkdir -p "$0/skills/.system/x" .codex/skills/mine; echo >.codex/AGENTS.md; echo >.codex/work.config.toml',
    );
    expect(await mend('env', 'codex')).toMatchObject({ code: 0, stderr: '' });
    expect(await links()).toBe(
      './.credentials.json ./AGENTS.md ./auth.json ./config.toml ./skills ./work.config.toml ',
    );
    expect(faults(await examined(person))).toEqual([]);
    await shell('rm "$0/config.toml"; echo "b = 2" >"$0/config.toml"');
    expect(await mend('env', 'codex')).toMatchObject({ code: 0, stderr: '' });
    expect(await shell('cat "$0/config.toml"')).toBe('b = 2\n');
    expectFault(
      await examined(person),
      /^warning agent-homes: the Codex home \S+ of a project has settings of its own \(config\.toml\)/,
    );
  },
  LONG,
);
