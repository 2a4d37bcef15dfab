/** What the kernel says of a thread; see proc_pid_stat(5). */
export interface ProcessInfo {
  /** Process (thread group) id. */
  readonly pid: number;
  readonly parent: number;
  /** POSIX session id. */
  readonly session: number;
  /**
   * Start time in clock ticks since boot; with the pid it names a process for good. Undefined while the process is in
   * execve(2): nothing more may be asked of it then, since the kernel would let the asker wait until that is over, and
   * it is not over before the close of a file of ours has been answered.
   */
  readonly start: number | undefined;
}

/** A process that belongs to a session with all that it starts, because `mend run` said so to the daemon. */
export interface RegisteredProcess {
  readonly pid: number;
  /** As in `ProcessInfo`. */
  readonly start: number;
  readonly session: { readonly key: string; readonly name: string };
  /** Several people steer its session (`mend session share`). */
  readonly shared?: true;
}

/** How a process ends, as seen while it closes its files. */
export interface ProcessEnd {
  readonly exiting: boolean;
  /** The signal that ends it, 0 for none. */
  readonly signal: number;
}

/** Looks at other processes. Every method answers undefined when the process is gone. */
export interface Processes {
  /** Of a thread id, or of a process id. */
  info(thread: number): ProcessInfo | undefined;
  /** The resolved path of the program that a process runs. */
  executable(pid: number): string | undefined;
  end(thread: number): ProcessEnd | undefined;
  /** When a process started, in µs since the epoch, to 10 ms. */
  started(pid: number): number | undefined;
  /** True when the process has a descriptor open that leads to this path. */
  holds(pid: number, path: string): boolean;
}
