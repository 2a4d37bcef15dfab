import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { harnessShell, shared } from './agent.js';
import type { Stage } from './stage.js';

/** Pauses between two kills, in ms. */
const [SHORTEST, LONGEST] = [200, 3000];

/** How long after a kill, in ms, whoever waits for it has begun to wait. */
const LATE = 50;

/** What a program says at its end. */
export interface Report {
  readonly failed?: string;
  readonly lines?: number;
  readonly turn?: number;
  readonly waits?: readonly (readonly [at: number, took: number])[];
}

/** A program that works in a memory folder in one of the ways of survivor.mjs, in a session of its own. */
export class Survivor {
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
export async function killAtRandom(supervisor: number, seconds: number): Promise<number[]> {
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

/** How often a server died, by the log in the folder of a store. */
export function deathsOf(store: string): number {
  return readFileSync(join(store, 'daemon.log'), 'utf8').split('the server died').length - 1;
}

/** From each death of a server, by the log in the folder of a store, to when the next one served, in ms. */
export function gapsOf(store: string): number[] {
  const gaps: number[] = [];
  let died: number | undefined;
  for (const line of readFileSync(join(store, 'daemon.log'), 'utf8').split('\n')) {
    const at = Date.parse(line.slice(0, line.indexOf(' ')));
    if (line.includes('the server died')) died ??= at;
    else if (line.includes('daemon serves again') && died !== undefined) {
      gaps.push(at - died);
      died = undefined;
    }
  }
  return gaps;
}

export const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1] ?? 0;

/** How long, in ms, whoever waited longest waited for each kill. */
export function pausesOf(kills: readonly number[], waits: readonly (readonly [at: number, took: number])[]): number[] {
  return kills.map((kill) =>
    Math.max(0, ...waits.map(([at, took]) => (at <= kill + LATE && at + took >= kill ? took : 0))),
  );
}
