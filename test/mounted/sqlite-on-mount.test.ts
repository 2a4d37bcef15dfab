import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { programFolder } from '../support/program.js';
import { shared } from './agent.js';
import { type Stage, staged, until } from './stage.js';

const LIBRARY = (): string => join(programFolder(), 'node_modules/better-sqlite3');

/** A process that adds rows to the database, and what it said was committed. */
class Writer {
  readonly name: string;
  /** The number of the last row that it said was committed. */
  committed = 0;
  readonly #child: ChildProcess;
  readonly #gone: Promise<unknown[]>;

  constructor(stage: Stage, database: string, name: string, rows?: number) {
    this.name = name;
    const program = shared('sqlite-writer.mjs', join(import.meta.dirname, 'sqlite-writer.mjs'));
    const more = rows === undefined ? [] : [String(rows)];
    const command = [process.execPath, program, LIBRARY(), database, name, ...more] as const;
    this.#child = stage.user.spawn(command, { cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdin?.on('error', () => undefined);
    this.#gone = once(this.#child, 'close');
    if (!this.#child.stdout) throw new Error('the program has no output');
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.committed = Number(line);
    });
  }

  /** Waits until it has committed so many rows more. */
  goesOn(rows: number): Promise<void> {
    const to = this.committed + rows;
    return until(() => this.committed >= to, `row ${to} of ${this.name}`, 30_000);
  }

  /** Waits until it has written all its rows. */
  async done(): Promise<void> {
    expect(await this.#gone).toEqual([0, null]);
  }

  /** Lets it finish the row it is at, and checks that nothing failed. */
  async stop(): Promise<void> {
    this.#child.stdin?.end();
    await this.done();
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    expect(await this.#gone).toEqual([null, 'SIGKILL']);
  }
}

interface Found {
  readonly integrity: string;
  readonly mode: string;
  readonly total: number;
  readonly rows: number;
  readonly last: Record<string, number>;
  readonly gaps: number;
}

/** Looks into the database as a further process of the user. */
async function look(stage: Stage, database: string): Promise<Found> {
  const program = `const [library, file] = process.argv.slice(1);
    const db = require(library)(file, { timeout: 30000 });
    const one = (sql) => db.prepare(sql).pluck().get();
    const mode = one('PRAGMA journal_mode');
    db.exec('BEGIN');
    const last = db.prepare('SELECT writer, max(number) AS last FROM line GROUP BY writer').all();
    console.log(JSON.stringify({
      mode,
      integrity: one('PRAGMA integrity_check'),
      total: one('SELECT value FROM total'),
      rows: one('SELECT count(*) FROM line'),
      last: Object.fromEntries(last.map((row) => [row.writer, row.last])),
      gaps: one('SELECT sum(most - many) FROM (SELECT max(number) AS most, count(*) AS many FROM line GROUP BY writer)'),
    }));`;
  const done = await stage.user.run([process.execPath, '-e', program, LIBRARY(), database]);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  return JSON.parse(done.stdout) as Found;
}

/** Mounts, and gives back the path of a database in a local folder. */
async function stageDatabase(stage: Stage): Promise<{ folder: string; database: string }> {
  const folder = await stage.mount();
  await stage.sh('mkdir "$1/state.tmp"', folder);
  return { folder, database: join(folder, 'state.tmp', 'state.sqlite') };
}

test(
  'two processes write one database in WAL mode: every row is there, once',
  staged(90, async (stage) => {
    const { folder, database } = await stageDatabase(stage);
    const writers = ['one', 'two'].map((name) => new Writer(stage, database, name, 300));
    await Promise.all(writers.map((writer) => writer.goesOn(20)));
    expect(await stage.sh('ls "$1/state.tmp"', folder)).toBe('state.sqlite\nstate.sqlite-shm\nstate.sqlite-wal\n');
    await Promise.all(writers.map((writer) => writer.done()));
    const last = { one: 300, two: 300 };
    expect(await look(stage, database)).toEqual({ integrity: 'ok', mode: 'wal', total: 600, rows: 600, last, gaps: 0 });
    // The last to close it takes the log in.
    expect(await stage.sh('ls "$1/state.tmp"', folder)).toBe('state.sqlite\n');
    expect(await stage.json(['memory'])).toEqual([]);
    expect(await stage.log()).toEqual([]);
  }),
  120_000,
);

test(
  'a writer killed in the middle leaves the database whole, and the other goes on',
  staged(120, async (stage) => {
    const { database } = await stageDatabase(stage);
    const steady = new Writer(stage, database, 'steady');
    let committed = 0;
    for (let round = 0; round < 6; round++) {
      const victim = new Writer(stage, database, 'victim');
      await victim.goesOn(committed === 0 ? 10 : committed + 10);
      await steady.goesOn(5);
      await victim.kill();
      committed = victim.committed;
      await steady.goesOn(5);
      const found = await look(stage, database);
      expect(found).toMatchObject({ integrity: 'ok', mode: 'wal', gaps: 0 });
      expect(found.total).toBe(found.rows);
      // The row that it was at may be committed and not said yet.
      expect([committed, committed + 1]).toContain(found.last['victim']);
    }
    await steady.stop();
    const found = await look(stage, database);
    expect(found).toMatchObject({ integrity: 'ok', gaps: 0, last: { steady: steady.committed } });
    expect(found.total).toBe(found.rows);
  }),
  150_000,
);

test(
  'writers do not notice that the server is killed or restarted',
  staged(120, async (stage) => {
    const { database } = await stageDatabase(stage);
    const writers = ['one', 'two'].map((name) => new Writer(stage, database, name));
    for (let round = 0; round < 3; round++) {
      await Promise.all(writers.map((writer) => writer.goesOn(15)));
      const { pid } = await stage.status();
      if (pid === null) throw new Error('no server runs');
      process.kill(pid, 'SIGKILL');
      await Promise.all(writers.map((writer) => writer.goesOn(15)));
      await stage.mend(['daemon', 'restart']);
    }
    await Promise.all(writers.map((writer) => writer.goesOn(15)));
    await Promise.all(writers.map((writer) => writer.stop()));
    const found = await look(stage, database);
    const [one = 0, two = 0] = writers.map((writer) => writer.committed);
    const expected = { integrity: 'ok', mode: 'wal', total: one + two, rows: one + two, last: { one, two }, gaps: 0 };
    expect(found).toEqual(expected);
  }),
  150_000,
);
