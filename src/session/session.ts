/** One run of a harness, or one POSIX session, with every process it started (spec §5.1). */
export interface Session {
  /** Names the session for good, across reboots and process ids used again. */
  readonly key: string;
  /** What a person is shown: the harness or `session`, and the process id it started with. */
  readonly name: string;
}

/** A process that calls, and the session it belongs to. */
export interface CallingProcess {
  readonly pid: number;
  readonly session: Session;
}
