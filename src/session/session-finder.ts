import { LRUCache } from 'lru-cache';
import type { Clock } from '../ports/clock.js';
import { type Journal, noJournal } from '../ports/journal.js';
import type { Processes, ProcessInfo, RegisteredProcess } from '../ports/process.js';
import type { CallingProcess, Session } from './session.js';

/** How long, in µs, a thread id is taken for the process it was last time; far less than ids take to come round again. */
const TRUSTED = 100_000;
/** Threads and POSIX sessions remembered. */
const REMEMBERED = 4096;
/** Ancestors looked at; a longer chain is cut off. */
const GENERATIONS = 256;

interface Remembered {
  readonly process: CallingProcess;
  until: number;
}

/** Stands for a caller that is gone or that the kernel does not name (pid 0). */
const UNKNOWN: CallingProcess = { pid: 0, session: { key: 'unknown', name: 'unknown' } };

/** Finds out which session a thread belongs to, from what the kernel says of it and never from what it says of itself. */
export class SessionFinder {
  readonly #processes: Processes;
  readonly #clock: Clock;
  readonly #boot: string;
  readonly #harnessOf: (executable: string) => string | undefined;
  readonly #threads = new LRUCache<number, Remembered>({ max: REMEMBERED });
  readonly #posix: LRUCache<number, { key: string; start: number | undefined }>;
  readonly #journal: Journal;
  #registered: ReadonlyMap<number, RegisteredProcess> = new Map();
  /** One of them is of a shared session. */
  #isShared = false;

  /**
   * @param boot names this boot of the machine, since process ids start again with the next
   * @param harnessOf tells which harness a program is, by its resolved path
   */
  constructor(
    processes: Processes,
    clock: Clock,
    boot: string,
    harnessOf: (executable: string) => string | undefined,
    journal: Journal = noJournal,
  ) {
    this.#journal = journal;
    this.#posix = new LRUCache({
      max: REMEMBERED,
      dispose: (_, id, reason) => reason === 'evict' && journal.note(`p/${id}`, undefined),
    });
    this.#processes = processes;
    this.#clock = clock;
    this.#boot = boot;
    this.#harnessOf = harnessOf;
  }

  /** Takes over what POSIX sessions were called whose leaders may have ended. */
  resume(): void {
    for (const [id, known] of this.#journal.left('p/'))
      this.#posix.set(Number(id), known as { key: string; start: number | undefined });
  }

  /**
   * Says which processes belong, with all that they start, to sessions that `mend run` registered, in the place of
   * what was said before.
   */
  register(processes: readonly RegisteredProcess[]): void {
    const same = ({ pid, start, session, shared }: RegisteredProcess): boolean => {
      const one = this.#registered.get(pid);
      return one?.start === start && one.session.key === session.key && one.shared === shared;
    };
    if (processes.length === this.#registered.size && processes.every(same)) return;
    this.#registered = new Map(processes.map((one) => [one.pid, one]));
    this.#isShared = processes.some(({ shared }) => shared);
    for (const remembered of this.#threads.values()) remembered.until = 0;
  }

  /** The process and session of a thread that waits for an answer; a thread that is gone is in a session of its own kind. */
  find(thread: number): CallingProcess {
    if (thread === 0) return UNKNOWN;
    const now = this.#clock();
    const remembered = this.#threads.get(thread);
    if (remembered && now < remembered.until) return remembered.process;
    const info = this.#processes.info(thread);
    if (!info) return remembered?.process ?? UNKNOWN;
    const process = { pid: info.pid, session: this.#sessionOf(info) };
    // In execve(2) only a close can come from it, and afterwards it may be another program.
    if (info.start !== undefined) this.#threads.set(thread, { process, until: now + TRUSTED });
    return process;
  }

  /** The nearest registered session, else harness, else the POSIX session; a shared one counts before all others. */
  #sessionOf(caller: ProcessInfo): Session {
    let info: ProcessInfo | undefined = caller;
    let registered: Session | undefined;
    let harness: Session | undefined;
    for (let i = 0; info && info.pid > 1 && i < GENERATIONS; i++) {
      const one = this.#registeredAt(info);
      if (one?.shared) return one.session;
      registered ??= one?.session;
      if (registered && !this.#isShared) return registered;
      if (!registered) harness ??= this.#harnessAt(info);
      // A registered session counts from farther up, too.
      if (harness && this.#registered.size === 0) break;
      info = info.parent > 0 ? this.#processes.info(info.parent) : undefined;
    }
    return this.#sharedLeader(caller) ?? registered ?? harness ?? this.#posixSession(caller);
  }

  #registeredAt(info: ProcessInfo): RegisteredProcess | undefined {
    const one = this.#registered.get(info.pid);
    // Its start is not to be asked for in execve(2), and it is the same process before and after.
    return one && (info.start === undefined || info.start === one.start) ? one : undefined;
  }

  /** The shared session whose process began the POSIX session of a caller, which may have lost its parents since. */
  #sharedLeader({ session }: ProcessInfo): Session | undefined {
    const one = this.#isShared ? this.#registered.get(session) : undefined;
    if (!one?.shared) return undefined;
    const leader = this.#processes.info(session);
    // The id of a leader that has ended is not given to another process while somebody is in its session.
    return !leader || this.#registeredAt(leader) ? one.session : undefined;
  }

  #harnessAt({ pid, start }: ProcessInfo): Session | undefined {
    const executable = start === undefined ? undefined : this.#processes.executable(pid);
    const harness = executable === undefined ? undefined : this.#harnessOf(executable);
    if (harness === undefined) return undefined;
    return { key: `${this.#boot}/${harness}/${pid}/${start}`, name: `${harness} ${pid}` };
  }

  /** A POSIX session is named after its leader, and keeps its name when the leader has ended. */
  #posixSession(caller: ProcessInfo): Session {
    const id = caller.session;
    const leader = id === caller.pid ? caller : this.#processes.info(id);
    const start = leader?.session === id ? leader.start : undefined;
    const known = this.#posix.get(id);
    const name = `session ${id}`;
    if (known && (start === undefined || known.start === undefined || known.start === start)) {
      if (start !== undefined) known.start = start;
      return { key: known.key, name };
    }
    const key = `${this.#boot}/session/${id}/${start ?? 'gone'}`;
    const named = { key, start };
    this.#posix.set(id, named);
    this.#journal.note(`p/${id}`, () => named);
    return { key, name };
  }
}
