import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { harnessShell, shared } from './agent.js';
import { type Stage, staged, until } from './stage.js';

/** Length of the run in seconds; the long one is `MEND_SURVIVE=600`. */
const SECONDS = Number(process.env['MEND_SURVIVE'] ?? 25);
/** Pauses between two kills, in ms. */
const [SHORTEST, LONGEST] = [200, 3000];

/** How long after a kill, in ms, whoever waits for it has begun to wait. */
const LATE = 50;

interface Report {
  readonly failed?: string;
  readonly lines?: number;
  readonly turn?: number;
  readonly waits?: readonly (readonly [at: number, took: number])[];
}

/** A program that works in the folder, in a session of its own. */
class Survivor {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    this.#child = child;
    this.#lines = lines;
  }

  static async start(stage: Stage, ...args: string[]): Promise<Survivor> {
    const program = shared('survivor.mjs', join(import.meta.dirname, 'survivor.mjs'));
    const command = [harnessShell(), '-c', '"$@"; exit $?', 'sh', process.execPath, program, ...args] as const;
    const child = stage.user.spawn(command, { cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
    if (!child.stdout) throw new Error('the program has no output');
    child.stdin?.on('error', () => undefined);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    expect((await lines.next()).value).toBe('begun');
    return new Survivor(child, lines);
  }

  async end(): Promise<Report> {
    const gone = once(this.#child, 'close');
    this.#child.stdin?.end();
    const { value } = await this.#lines.next();
    await gone;
    return JSON.parse(value ?? '{"failed":"it said nothing"}') as Report;
  }
}

/** The process that serves, as the supervisor's child; undefined while there is none. */
export function serverOf(supervisor: number): number | undefined {
  const children = readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'latin1').trim().split(' ');
  return children[0] ? Number(children[0]) : undefined;
}

/** Kills whatever server there is, again and again, for some seconds; gives back when. */
async function killAtRandom(supervisor: number, seconds: number): Promise<number[]> {
  const kills: number[] = [];
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    await delay(SHORTEST + Math.random() * (LONGEST - SHORTEST));
    const server = serverOf(supervisor);
    if (server === undefined) continue;
    process.kill(server, 'SIGKILL');
    kills.push(Date.now());
  }
  return kills;
}

/** How often a server died, by the log. */
function deathsOf(stage: Stage): number {
  return readFileSync(join(stage.store, 'daemon.log'), 'utf8').split('the server died').length - 1;
}

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1] ?? 0;

test.each([
  ['SIGKILL of the server at random', undefined],
  // Between a commit and what follows from it, and between that and the answer.
  ['SIGKILL of the server wherever an answer is due', '150'],
])(
  `%s for ${SECONDS} s: no call fails, nothing is lost, nothing is done twice`,
  (_, oneIn) =>
    staged(SECONDS + 90, async (stage) => {
      const folder = await stage.mount(oneIn === undefined ? {} : { env: { MEND_DIE_ONE_IN: oneIn } });
      const { supervisor_pid: supervisor } = await stage.status();
      if (supervisor === null) throw new Error('no supervisor runs');
      const plain = join(stage.user.home, 'plain');
      await stage.sh('mkdir "$1"; echo 0 >"$1/saved.md"; printf "turn 0\\n" >"$2/saved.md"', plain, folder);
      const start = (role: string, name: string) => Survivor.start(stage, role, folder, name, plain);
      const roles = [
        ...[await start('append', 'log-1.md'), await start('append', 'log-2.md'), await start('hold', 'held.md')],
        ...[await start('rename', 'saved.md'), await start('watch', 'saved.md'), await start('old', 'saved.md')],
        ...[await start('folders', 'folder'), await start('edit', 'edited.md'), await start('names', 'name.md')],
        await start('wait', 'wait.md'),
      ];
      const kills = await (oneIn === undefined ? killAtRandom(supervisor, SECONDS) : delay(SECONDS * 1000, undefined));
      const reports = await Promise.all(roles.map((role) => role.end()));
      expect(reports.flatMap(({ failed }) => failed ?? [])).toEqual([]);
      expect(deathsOf(stage)).toBeGreaterThan(SECONDS / 10);

      // Every save is there once: versions that follow each other are not the same.
      await until(async () => (await stage.status()).pid !== null, 'a server');
      for (const file of ['log-1.md', 'saved.md', 'edited.md']) {
        const log = await stage.log(file);
        expect(log.map(({ kind }) => kind).filter((kind) => kind !== 'saved')).toEqual([]);
        const texts = await Promise.all(log.map(({ version }) => stage.show(file, version)));
        expect(new Set(texts).size).toBe(texts.length);
      }
      const waits = reports.flatMap((report) => report.waits ?? []);
      const pauses = (kills ?? []).map((kill) =>
        Math.max(0, ...waits.map(([at, took]) => (at <= kill + LATE && at + took >= kill ? took : 0))),
      );
      console.log(
        `kills ${deathsOf(stage)}; pauses: median ${median(pauses)} ms, longest ${Math.max(0, ...waits.map(([, took]) => took))} ms; ` +
          `appended ${reports.map(({ lines }) => lines ?? 0).reduce((a, b) => a + b)} lines`,
      );
      expect(await stage.sh('cd "$1"; find . -type f | sort', folder)).toBe(
        ['edited', 'held', 'log-1', 'log-2', 'saved', 'wait'].map((name) => `./${name}.md\n`).join(''),
      );
    })(),
  (SECONDS + 120) * 1000,
);
