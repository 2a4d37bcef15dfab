/** Environment variables by name, as in `process.env`. */
export type HarnessEnvironment = Readonly<Record<string, string | undefined>>;

interface Harness {
  /** The name on the command line and in the store, such as `claude`. */
  readonly name: string;
  /** The name for people, such as `Claude Code`. */
  readonly title: string;
  /**
   * Tells whether an executable is this harness. `executable` is the resolved path the kernel gives
   * (`/proc/<pid>/exe`), never what a process says of itself.
   */
  matchesProgram(executable: string): boolean;
}

/** A harness that keeps a memory folder. */
export interface MemoryHarness extends Harness {
  readonly keepsMemory: true;
  /**
   * The memory folder for a project, absolute. `root` is the canonical root of the repository (`Repository.root`),
   * `env` the environment the harness is started with; nothing else decides. Throws `MendError` when `env` cannot.
   */
  memoryFolder(root: string, env: HarnessEnvironment): string;
  /**
   * Tells whether a name in the tree is not memory but what programs leave behind (spec §3.7). `path` is relative
   * to the tree and separated by `/`; what lies in a local folder is local. Called for every lookup and create.
   */
  isLocal(path: string): boolean;
  /** The path that a temporary file of the harness is to replace, told from its name; undefined for any other path. */
  temporaryFor(path: string): string | undefined;
  /** Frontmatter keys that the harness itself keeps, dotted where nested; a merge takes the newer side's value. */
  readonly maintainedKeys: readonly string[];
}

/** A harness that keeps no memory folder: there is nothing to mount, and `reason` says so to people. */
export interface MemorylessHarness extends Harness {
  readonly keepsMemory: false;
  /** One sentence. */
  readonly reason: string;
}

export type HarnessAdapter = MemoryHarness | MemorylessHarness;
