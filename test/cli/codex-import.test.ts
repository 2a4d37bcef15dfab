import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CodexHome, MADE, threadOf } from '../import/codex-home.js';
import { Person } from './person.js';

const ORIGIN = 'https://forge.example/ann/garden.git';

let person: Person;
let home: CodexHome;

beforeEach(async () => {
  person = await Person.make();
  await person.user.run(['git', '-C', person.repository, 'remote', 'add', 'origin', ORIGIN]);
  mkdirSync(join(person.user.home, '.codex/sessions'), { recursive: true });
  home = new CodexHome(join(person.user.home, '.codex'));
  // Two of this repository, one of another, one of a folder without Git, one of this folder without an origin.
  home.enlist(1, { cwd: '/elsewhere/clone', origin: 'git@forge.example:ann/garden' });
  home.enlist(2, { cwd: person.repository });
  home.enlist(3, { cwd: person.repository, origin: 'https://forge.example/ann/kitchen.git' });
  home.enlist(4, { cwd: '/tmp/scratch' });
  for (const of of [1, 2, 3, 4, 5]) home.sumUp({ of, says: `# Summary ${of}`, notes: 'notes' }, 'memories_1.sqlite');
  home.sumUp({ of: 2, says: '# Summary 2, later', updated: MADE + 60 });
});

afterEach(() => person.user.remove());

/** Makes the files of the home the person's. */
function give(): void {
  if (process.getuid?.() !== person.user.uid)
    execFileSync('chown', ['-R', `${person.user.uid}:${person.user.gid}`, home.path]);
}

/** Takes away what SQLite left, so that the databases lie there as after a good end. */
function settle(): void {
  for (const name of readdirSync(home.path)) if (/-(wal|shm)$/.test(name)) rmSync(join(home.path, name));
}

const FILE = /^rollout_summaries\/2026-06-25T18-17-07-[0-9A-Za-z]{4}-a_slug\.md$/;

interface Imported {
  readonly harness: string;
  readonly file: string;
  readonly outcome: string;
  readonly reason: string | null;
}

describe('mend memory import', () => {
  it('brings the summaries of this repository from a home that mixes several, once', { timeout: 180_000 }, async () => {
    settle();
    give();
    // Without a name for the harness: it is one that the person uses.
    const result = await person.mend(['memory', 'import', '--json']);
    expect(result.code).toBe(0);
    const rows = JSON.parse(result.stdout) as Imported[];
    expect(rows.map(({ harness, outcome }) => `${harness} ${outcome}`)).toEqual(['codex added', 'codex added']);
    for (const { file } of rows) expect(file).toMatch(FILE);
    const listed = await person.json<{ harness: string; file: string }[]>('memory');
    expect(listed.map(({ harness }) => harness)).toEqual(['codex', 'codex']);
    const texts = await Promise.all(rows.map(({ file }) => person.done('memory', 'show', `codex:${file}`)));
    expect(texts.join()).toContain('# Summary 1\n');
    expect(texts.join()).toContain('# Summary 2, later\n');
    expect(texts.join()).not.toMatch(/Summary [345]/);
    expect(texts.find((text) => text.includes(threadOf(2)))).toContain(
      `cwd: ${person.repository}\ngit_branch: main\n\n`,
    );
    const again = await person.json<Imported[]>('memory', 'import', '--harness', 'codex');
    expect(again.map(({ outcome }) => outcome)).toEqual(['same', 'same']);
  });

  it('has Codex know what was imported: before it starts, and while it runs', { timeout: 180_000 }, async () => {
    settle();
    give();
    interface Env {
      readonly environment: Readonly<Record<string, string>>;
    }
    const known = async (): Promise<string[]> => {
      const { environment } = await person.json<Env>('env', 'codex');
      const db = new Database(join(environment['CODEX_HOME'] ?? '', 'memories_v2_1.sqlite'), { readonly: true });
      try {
        return db.prepare<[], string>('SELECT thread_id FROM stage1_outputs ORDER BY 1').pluck().all();
      } finally {
        db.close();
      }
    };
    await person.done('memory', 'import', '--harness', 'codex');
    expect(await known()).toEqual([threadOf(1), threadOf(2)]);
    // More of it comes while the home is in use.
    home.enlist(6, { cwd: person.repository });
    home.sumUp({ of: 6, says: '# Summary 6' });
    settle();
    give();
    const { environment } = await person.json<Env>('env', 'codex');
    const database = join(environment['CODEX_HOME'] ?? '', 'memories_v2_1.sqlite');
    const count = (): number => {
      const db = new Database(database, { readonly: true });
      try {
        return db.prepare<[], number>('SELECT count(*) FROM stage1_outputs').pluck().get() ?? 0;
      } finally {
        db.close();
      }
    };
    await person.done('memory', 'import', '--harness', 'codex');
    await expect.poll(count, { timeout: 60_000 }).toBe(3);
    const held = (): number =>
      names(join(environment['CODEX_HOME'] ?? '', 'sessions')).filter((name) => name.endsWith('.jsonl')).length;
    await expect.poll(held, { timeout: 60_000 }).toBe(3);
  });

  it('says in a dry run what it would do, and writes nothing anywhere', async () => {
    settle();
    give();
    const before = names(person.user.home);
    const dry = await person.json<Imported[]>('memory', 'import', '--harness', 'codex', '--dry-run');
    expect(dry.map(({ outcome }) => outcome)).toEqual(['added', 'added']);
    expect(names(person.user.home)).toEqual(before);
    expect(await person.json('memory', 'import', '--harness', 'codex')).toEqual(dry);
    expect(names(home.path)).toEqual(before.filter((name) => name.startsWith('.codex/')).map((name) => name.slice(7)));
  });

  it('reads neither conversations nor the memory folder, login or settings', async () => {
    home.hold(1, ['{"said":"SPOKEN"}'], { origin: ORIGIN });
    mkdirSync(join(home.path, 'memories'));
    const secret = ['auth.json', 'config.toml', 'memories/MEMORY.md', home.placeOf(1)].map((name) =>
      join(home.path, name),
    );
    for (const file of secret.slice(0, 3)) writeFileSync(file, 'CANARY = "x"\n');
    // A read would raise the time of access above that of the change (relatime).
    for (const file of secret) utimesSync(file, 1000, 2000);
    settle();
    give();
    await person.done('memory', 'import', '--harness', 'codex');
    for (const file of secret) expect(statSync(file).atimeMs, file).toBe(1_000_000);
    for (const file of secret) chmodSync(file, 0);
    const rows = await person.json<Imported[]>('memory', 'import', '--harness', 'codex');
    expect(rows.map(({ outcome }) => outcome)).toEqual(['same', 'same']);
    const grep = await person.user.run(['grep', '-rlE', 'CANARY|SPOKEN|spoken', person.store]);
    expect(grep).toMatchObject({ code: 1, stdout: '' });
  });

  it('refuses a summary with a likely secret, also in what Codex noted beside it', async () => {
    const token = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
    home.sumUp({ of: 1, says: '# Summary 1', updated: MADE + 90, notes: `use ${token}` });
    settle();
    give();
    const result = await person.mend(['memory', 'import', '--json']);
    expect(result.code).toBe(3);
    const rows = JSON.parse(result.stdout) as Imported[];
    expect(rows.map(({ outcome }) => outcome).sort()).toEqual(['added', 'skipped']);
    expect(rows.find(({ outcome }) => outcome === 'skipped')?.reason).toMatch(/^may hold a secret in line 1/);
    const grep = await person.user.run(['grep', '-rl', token, person.store]);
    expect(grep).toMatchObject({ code: 1, stdout: '' });
  });

  it('takes a copy of another machine’s home, and follows what changed there', { timeout: 180_000 }, async () => {
    settle();
    give();
    const copy = join(person.user.home, 'brought');
    await person.user.run(['mv', home.path, copy]);
    const from = ['memory', 'import', '--harness', 'codex', '--from', copy, '--machine', 'desktop'];
    expect((await person.json<Imported[]>(...from)).map(({ outcome }) => outcome)).toEqual(['added', 'added']);
    expect((await person.json<Imported[]>(...from)).map(({ outcome }) => outcome)).toEqual(['same', 'same']);
  });
});

it('mend adopt counts them', async () => {
  settle();
  give();
  const found = await person.json<{ harness: string; files: number; folder: string }[]>('adopt');
  expect(found).toContainEqual(expect.objectContaining({ harness: 'codex', files: 2, folder: home.path }));
});

function names(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
}
