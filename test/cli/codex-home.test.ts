import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SUMMARY_TABLES, threadOf } from '../import/codex-home.js';
import { Person } from './person.js';

const SQLITE = new URL('../../node_modules/better-sqlite3/lib/index.js', import.meta.url).pathname;
const TIMEOUT_MS = 240_000;

let person: Person;

beforeEach(async () => {
  person = await Person.make();
  const { home } = person.user;
  await shell('mkdir -p "$1/.codex" "$1/two" "$1/bin" && printf %s "$2" >"$1/.codex/config.toml"', home, SETTINGS);
});

afterEach(async () => {
  await person.mend(['unmount', '--all', '--force']);
  await person.user.remove();
});

const SETTINGS = 'model = "gpt-5.4"\n';

async function shell(script: string, ...args: string[]): Promise<string> {
  const result = await person.user.run(['sh', '-euc', script, 'sh', ...args]);
  expect(result, script).toMatchObject({ code: 0, stderr: '' });
  return result.stdout;
}

interface Env {
  readonly memory: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** What `mend env codex` prints. @param home another home of the person's, as on another machine with the same store */
async function env(home = person.user.home, cwd = person.repository): Promise<Env> {
  const variables = { HOME: home, MEND_STORE_DIR: person.store };
  const result = await person.mend(['env', 'codex', '--json'], { cwd, env: variables });
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(result.stdout) as Env;
}

/** Puts a program of the name `codex` where `mend run` finds it first. */
async function program(source: string): Promise<Record<string, string>> {
  const bin = join(person.user.home, 'bin');
  await shell('printf %s "$2" >"$1/codex" && chmod 755 "$1/codex"', bin, `#!${process.execPath}\n${source}`);
  return { PATH: `${bin}:${process.env['PATH']}` };
}

it(
  'each project has a home of its own, which is beside no other’s memory',
  async () => {
    const other = join(person.user.home, 'kitchen');
    await person.user.run(['git', 'init', '--quiet', other]);
    const here = await env();
    const there = await env(person.user.home, other);
    expect(there.memory).not.toBe(here.memory);
    await shell('echo beans >"$1/MEMORY.md"', here.memory);
    expect(await shell('ls -A "$1"', there.memory)).toBe('');
    expect(await env()).toEqual(here);
    // For a shell: the environment as commands, the arguments in a comment.
    const printed = await person.done('env', 'codex');
    expect(await shell('eval "$1"; echo "$CODEX_HOME"', printed)).toBe(`${here.environment['CODEX_HOME']}\n`);
    const start = /^# start it with: codex (.*)$/m.exec(printed)?.[1];
    expect(await shell(`for word in ${start}; do echo "$word"; done`)).toBe(`${here.arguments.join('\n')}\n`);
    await person.done('unmount');
    expect(await shell('cat "$1/MEMORY.md"', here.memory)).toBe('beans\n');
    expect(await shell('findmnt -n -o FSTYPE "$1"', there.memory)).toBe('fuse.mend\n');
  },
  TIMEOUT_MS,
);

it(
  'what Codex keeps for itself works as files of the folder, and goes nowhere',
  async () => {
    const { memory } = await env();
    const script = `cd "$1" && mkdir -p .git/objects .codex .agents .aws .codex-baseline rollout_summaries
    echo ref >.git/HEAD.lock && mv .git/HEAD.lock .git/HEAD && echo x >.codex-baseline/.git && echo x >.codex/x
    echo diff >phase2_workspace_diff.md && : >memories.lock && echo notes >MEMORY.md && echo a >rollout_summaries/a.md
    cat .git/HEAD phase2_workspace_diff.md`;
    expect(await shell(script, memory)).toBe('ref\ndiff\n');
    const listed = await person.json<{ harness: string; file: string }[]>('memory');
    expect(listed.map(({ harness, file }) => `${harness} ${file}`)).toEqual([
      'codex MEMORY.md',
      'codex rollout_summaries/a.md',
    ]);
    const [log, status] = [await person.json<{ file: string }[]>('memory', 'log'), await person.json<Status>('status')];
    expect(new Set(log.map(({ file }) => file))).toEqual(new Set(['codex:MEMORY.md', 'codex:rollout_summaries/a.md']));
    expect(status.mounts[0]).toMatchObject({ harness: 'codex', files: 2, bytes: 8 });
    const elsewhere = await env(join(person.user.home, 'two'));
    expect((await shell('ls -A "$1"', elsewhere.memory)).split('\n').filter(Boolean)).toEqual([
      'MEMORY.md',
      'rollout_summaries',
    ]);
    expect(await person.done('memory', 'show', 'codex:MEMORY.md')).toBe('notes\n');
  },
  TIMEOUT_MS,
);

interface Status {
  readonly mounts: readonly { readonly harness: string; readonly files: number; readonly bytes: number }[];
}

it(
  'mend run gives Codex its home, the feature and the arguments, and leaves the settings alone',
  async () => {
    const found = await program(`
    const fs = require('fs'), path = require('path'), home = process.env.CODEX_HOME;
    const roots = fs.readdirSync(home).filter((name) => /^memories/.test(name));
    fs.writeFileSync(path.join(home, roots[0], 'MEMORY.md'), 'from a run\\n');
    console.log(JSON.stringify({ args: process.argv.slice(2), roots, settings: fs.readlinkSync(path.join(home, 'config.toml')) }));
    process.exit(7);`);
    const result = await person.mend(['run', 'codex', 'resume', '--last'], { env: found });
    expect(result).toMatchObject({ code: 7, stderr: '' });
    const told = JSON.parse(result.stdout) as { args: string[]; roots: string[]; settings: string };
    const prepared = await env();
    expect(told.args).toEqual([...prepared.arguments, 'resume', '--last']);
    expect(told.args).toEqual(expect.arrayContaining(['features.memories=true', 'memories.version="v2"']));
    expect(told.roots).toEqual(['memories_v2']);
    const users = join(person.user.home, '.codex/config.toml');
    expect(told.settings).toBe(users);
    expect(readFileSync(users, 'utf8')).toBe(SETTINGS);
    const [version] = await person.json<{ session: string }[]>('memory', 'log', 'codex:MEMORY.md');
    expect(version?.session).toMatch(/^codex-[0-9a-f]{8}$/);
  },
  TIMEOUT_MS,
);

it(
  'another version of the memory goes on with the same files, alone',
  async () => {
    const { memory } = await env();
    await shell('echo notes >"$1/MEMORY.md"', memory);
    await shell('printf %s "$2" >"$1/.codex/config.toml"', person.user.home, '[memories]\nversion = "v1"\n');
    const busy = await person.mend(['env', 'codex']);
    expect(busy.code).toBe(1);
    expect(busy.stderr).toMatch(/is in use in version 2, and its settings ask for the other one: .*"mend unmount"/);
    await person.done('unmount');
    const after = await env();
    expect(after.memory).toBe(memory.replace('memories_v2', 'memories'));
    expect(await shell('cat "$1/MEMORY.md" && cd "$1/.." && ls -d memories*', after.memory)).toBe('notes\nmemories\n');
  },
  TIMEOUT_MS,
);

it(
  'a server that outlives the program is listened to, and what it sums up reaches other homes',
  async () => {
    const tables = SUMMARY_TABLES.replaceAll('@made', "'2026-11-30 20:09:21'");
    const background = `
    import Database from '${SQLITE}';
    import { existsSync, writeFileSync } from 'node:fs';
    const home = process.env.CODEX_HOME;
    const db = new Database(home + '/memories_v2_1.sqlite');
    db.pragma('journal_mode = WAL');
    db.exec(\`${tables}\`);
    const put = db.prepare("INSERT INTO stage1_outputs (thread_id, source_updated_at, raw_memory, rollout_summary, generated_at) VALUES (?, 5, '', ?, 6)");
    put.run('${threadOf(1)}', 'one');
    writeFileSync(home + '/ready', '');
    setInterval(() => {
      if (existsSync(home + '/done') || !existsSync(home + '/go')) return;
      put.run('${threadOf(2)}', 'two');
      writeFileSync(home + '/done', '');
    }, 50);`;
    const found = await program(`
    const { spawn } = require('child_process'), fs = require('fs');
    const child = spawn(process.execPath, ['--input-type=module', '-e', ${JSON.stringify(background)}], { detached: true, stdio: 'ignore' });
    child.unref();
    const wait = setInterval(() => { if (fs.existsSync(process.env.CODEX_HOME + '/ready')) clearInterval(wait); }, 20);`);
    expect(await person.mend(['run', 'codex'], { env: found })).toMatchObject({ code: 0, stderr: '' });
    const ours = (await env()).environment['CODEX_HOME'] ?? '';
    const two = join(person.user.home, 'two');
    const known = async (): Promise<string[]> => {
      const { environment } = await env(two);
      const ask = `import Database from '${SQLITE}';
      const db = new Database(process.argv[1]);
      console.log(db.prepare('SELECT rollout_summary FROM stage1_outputs ORDER BY 1').pluck().all().join());
      if (db.pragma('integrity_check', { simple: true }) !== 'ok') process.exit(1);`;
      const file = join(environment['CODEX_HOME'] ?? '', 'memories_v2_1.sqlite');
      return (await shell('exec "$1" --input-type=module -e "$2" "$3"', process.execPath, ask, file)).trim().split(',');
    };
    expect(await known()).toEqual(['one']);
    await shell(': >"$1/go"', ours);
    // It is found by looking: nobody tells.
    while (!(await known()).includes('two')) await delay(500);
    expect(await known()).toEqual(['one', 'two']);
  },
  TIMEOUT_MS,
);

it(
  'what of a home cannot be read is named, and keeps nobody from starting Codex',
  async () => {
    const { environment, memory } = await env();
    const home = environment['CODEX_HOME'] ?? '';
    const found = await program('process.exit(4)');
    await shell('echo beans >"$2/MEMORY.md"; mkdir -m 000 "$1/sessions"', home, memory);
    const { code, stderr } = await person.mend(['run', 'codex'], { env: found });
    expect(code).toBe(4);
    expect(stderr).toBe('mend: left out sessions: it cannot be read: make it readable for you\n');
    expect(await shell('cat "$1/MEMORY.md"; chmod 700 "$2/sessions"', memory, home)).toBe('beans\n');
    expect(await person.mend(['run', 'codex'], { env: found })).toMatchObject({ code: 4, stderr: '' });
  },
  TIMEOUT_MS,
);

it(
  'settings that are a pipe keep nobody waiting, and a home that cannot be entered is the matter of its project alone',
  async () => {
    const other = join(person.user.home, 'kitchen');
    await person.user.run(['git', 'init', '--quiet', other]);
    const settings = join(person.user.home, '.codex/config.toml');
    await shell('rm "$1" && mkfifo "$1"', settings);
    const { environment } = await env();
    await shell('rm "$1"; chmod 000 "$2"', settings, environment['CODEX_HOME'] ?? '');
    for (const command of [['status'], ['mount'], ['session'], ['daemon', 'restart']])
      expect(await person.mend(command, { cwd: other }), command.join(' ')).toMatchObject({ code: 0, stderr: '' });
    expect((await env(person.user.home, other)).memory).not.toBe('');
    // Its next start gives it back to its user.
    expect(await env()).toMatchObject({ environment });
  },
  TIMEOUT_MS,
);

it(
  'what an export has of Codex is not taken for memory of another, and said to be no home',
  async () => {
    const { memory } = await env();
    await shell(
      'mkdir "$1/rollout_summaries"; echo beans >"$1/MEMORY.md"; echo a >"$1/rollout_summaries/a.md"',
      memory,
    );
    const out = join(person.user.home, 'out');
    await person.done('memory', 'export', out);
    const from = ['memory', 'import', '--from', out, '--machine', 'desktop'];
    const unnamed = await person.mend(from);
    expect(unnamed).toMatchObject({ code: 1, stdout: '' });
    expect(unnamed.stderr).toContain('has a folder "codex", which may be memory of Codex from an export');
    const named = await person.mend([...from, '--harness', 'codex']);
    expect(named).toMatchObject({ code: 1, stdout: '' });
    expect(named.stderr).toContain('is no copy of a home of Codex');
    expect((await person.json<{ harness: string }[]>('memory')).every(({ harness }) => harness === 'codex')).toBe(true);
  },
  TIMEOUT_MS,
);
