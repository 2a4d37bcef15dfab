/** Environment variables by name, as in `process.env`. */
export type HarnessEnvironment = Readonly<Record<string, string | undefined>>;

/** Where a harness runs: what decides where its memory is, and how it is started. */
export interface HarnessPlace {
  /** Canonical root of the repository (`Repository.root`). */
  readonly root: string;
  /** What the harness is started with, with `HOME` and `PWD` set. */
  readonly env: HarnessEnvironment;
  /**
   * A folder for this harness and project in the user’s data folder, which no other project or harness has, however many
   * checkouts the project has; `prepare` makes it. Undefined while the repository belongs to no project.
   */
  readonly home: string | undefined;
}

/** How `mend run` and `mend env` start a harness. What is left out is as the person has it. */
export interface Launch {
  /** Names of its program; the first that PATH has is started. */
  readonly programs: readonly string[];
  /** Variables that the harness needs besides, or (undefined) must not have. */
  environment?(place: HarnessPlace): HarnessEnvironment;
  /** The arguments that the program gets, made from those that the person gave: they are all in it, in their order. */
  args?(place: HarnessPlace, given: readonly string[]): readonly string[];
  /**
   * Makes ready what lies in `place.home`, before the memory is mounted, also for `mend mount`. It runs in the command, may run
   * several times, and at once in two commands.
   */
  prepare?(place: HarnessPlace): void | Promise<void>;
  /** What of its files hinders the harness, or is not what a person expects. Changes nothing; `prepare` may throw for some of it. */
  faults?(place: HarnessPlace): readonly LaunchFault[];
}

/** What is wrong with files of a harness. */
export interface LaunchFault {
  /** A sentence without its end. */
  readonly what: string;
  readonly todo: string;
  /** It works all the same, and is said by `mend doctor` alone. */
  readonly minor?: true;
}

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

/** The file that a harness loads at its start, and that is to name the other ones. */
export interface MemoryIndex {
  /** Relative to the memory folder. */
  readonly file: string;
  /** What is loaded of it: so many lines and UTF-16 units, whichever ends first; blanks around the text do not count. */
  readonly lines: number;
  readonly characters: number;
  /** Tells whether a file is a note that the index, or another one of that name in a folder around it, is to name. */
  isNote(path: string): boolean;
}

/** How the notes of a harness say which checkouts they are of. A note is taken in for a project only if it names its checkouts. */
export interface NoteOrigin {
  /** What a line begins with that names a checkout, such as `Project:`. */
  readonly label: string;
  /**
   * The paths that a note names, with blanks at their ends, which may be of the path or not; empty where it has to name one
   * and does not, undefined for a file that need not.
   */
  pathsIn(path: string, text: string): readonly string[] | undefined;
  /** The text of a note with one path more; undefined for files that stay as they are. */
  withPath?(path: string, text: string, root: string): string | undefined;
}

/** Names that the memory folder of a checkout may have, where harnesses do not all make them alike. */
export interface FolderNames {
  readonly pattern: RegExp;
  /** The folders in which one may lie. */
  readonly within: readonly string[];
}

/** A harness that keeps a memory folder. */
export interface MemoryHarness extends Harness {
  readonly keepsMemory: true;
  /**
   * The memory folder for a project, absolute; nothing but the place decides. Undefined where it lies in `place.home` and
   * there is none yet. Throws `MendError` when the environment cannot tell.
   */
  memoryFolder(place: HarnessPlace): string | undefined;
  /** The memory folder lies in `HarnessPlace.home`: checkouts of one project share it, and no two projects can have one. */
  readonly homePerProject?: true;
  readonly launch: Launch;
  /**
   * What a person has who uses the harness: a file or folder. Where it is missing, and the project has no memory of the harness, it is
   * left alone unless it is named. Undefined for a harness that is never left alone. Throws as `memoryFolder` does.
   */
  signOfUse?(env: HarnessEnvironment): string;
  /** Where `mend memory rm` moves files of this harness, with a timestamp: a memory folder that goes with this one. */
  readonly archive?: MemoryHarness;
  /** Names of the memory folder for this place besides the one in `memoryFolder`, whose last segment then is not the only one. */
  folderNames?(place: HarnessPlace): FolderNames;
  /** Plain folders and files are made for the owner alone, and that is verified. */
  readonly ownerOnly?: true;
  /** Undefined when files do not say which checkout they are of. */
  readonly origin?: NoteOrigin;
  /**
   * Tells whether a name in the tree is not memory but what programs leave behind (spec §3.7). `path` is relative
   * to the tree and separated by `/`; what lies in a local folder is local. Called for every lookup and create.
   */
  isLocal(path: string): boolean;
  /** The path that a temporary file of the harness is to replace, told from its name; undefined for any other path. */
  temporaryFor(path: string): string | undefined;
  /**
   * Where the memory lies in a copy of the harness's files that was brought from another machine, as a path relative to
   * the copy (`.` for the copy itself). Undefined where the copy holds what is not memory, and none for the project is
   * in it.
   * @param root the root of the repository
   * @param has tells whether the copy has a folder or file of a relative path
   * @param names what lies at the top of the copy
   */
  memoryInCopy(root: string, has: (path: string) => boolean, names: readonly string[]): string | undefined;
  /** Frontmatter keys that the harness itself keeps, dotted where nested; a merge takes the newer side's value. */
  readonly maintainedKeys: readonly string[];
  /** Undefined when the harness has none that people look after. */
  readonly index?: MemoryIndex | undefined;
}

/** A harness that keeps no memory folder: there is nothing to mount, and `reason` says so to people. */
export interface MemorylessHarness extends Harness {
  readonly keepsMemory: false;
  /** One sentence. */
  readonly reason: string;
}

export type HarnessAdapter = MemoryHarness | MemorylessHarness;
