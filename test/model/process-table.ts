import type { Processes } from '../../src/ports/process.js';
import type { Running } from './play.js';
import type { Process } from './schedule.js';

const HARNESS = '/opt/claude';
const LEADERS = { A: 10, B: 20, C: 30, Z: 40 };
/** The first process id of programs that start for one step. */
const PROGRAMS = 1000;

/** Somebody in no session of the schedules. */
export const OUTSIDER = 900;

interface Entry {
  readonly parent: number;
  /** µs. */
  readonly started: number;
  readonly executable: string;
}

/** The processes of schedules, made up: harnesses, each with a process that stays and programs that come and go. */
export class ProcessTable {
  readonly #entries = new Map<number, Entry>();
  readonly #programs = new Map<string, number>();
  #next = PROGRAMS;

  constructor() {
    this.#entries.set(OUTSIDER, { parent: 1, started: 0, executable: '/bin/sh' });
    for (const leader of Object.values(LEADERS)) {
      this.#entries.set(leader, { parent: 1, started: 0, executable: HARNESS });
      for (const pid of [leader + 1, leader + 2])
        this.#entries.set(pid, { parent: leader, started: 0, executable: '/usr/bin/node' });
    }
  }

  /** Which harness a program is. */
  readonly harnessOf = (executable: string): string | undefined => (executable === HARNESS ? 'claude' : undefined);

  /** The process of a name; a program is started when it does not run. */
  find({ session, role }: Process, now: number): Running {
    const leader = LEADERS[session];
    if (role !== '*') return { pid: leader + (role === '' ? 1 : 2), started: 0, remakes: false };
    let pid = this.#programs.get(session);
    if (pid === undefined) {
      pid = this.#next++;
      this.#programs.set(session, pid);
      this.#entries.set(pid, { parent: leader, started: now, executable: '/usr/bin/git' });
    }
    return { pid, started: this.#entries.get(pid)?.started ?? 0, remakes: true };
  }

  /** A program ends. */
  end({ session, role }: Process): void {
    const pid = role === '*' ? this.#programs.get(session) : undefined;
    if (pid === undefined) return;
    this.#entries.delete(pid);
    this.#programs.delete(session);
  }

  /** @param holds tells whether a process has a path open */
  asProcesses(holds: Processes['holds']): Processes {
    return {
      info: (pid) => {
        const entry = this.#entries.get(pid);
        return entry && { pid, parent: entry.parent, session: 5, start: entry.started + 1 };
      },
      executable: (pid) => this.#entries.get(pid)?.executable,
      started: (pid) => this.#entries.get(pid)?.started,
      end: (pid) => (this.#entries.has(pid) ? { exiting: false, signal: 0 } : undefined),
      holds,
    };
  }
}
