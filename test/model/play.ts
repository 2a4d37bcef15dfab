import { type Caller, type Mode, type Opened, Reference } from './reference.js';
import { edited, type Operation, type Process, printSchedule, type Session, type Step } from './schedule.js';
import { type Content, linesOf } from './texts.js';

/** A file as somebody outside all sessions sees it. */
export interface Seen {
  readonly text: Content;
  /** µs; 0 when the file is missing. */
  readonly mtime: number;
}

/** An entry of a file's history. */
export interface Version {
  readonly kind: string;
  readonly text: string;
}

/** Why a history (newest first) does not go with the heads that a file had, oldest first; undefined when it does. */
export function historyFault(heads: readonly string[], history: readonly Version[]): string | undefined {
  const texts = new Set(history.map(({ text }) => text));
  if (heads.slice(-VERSIONS_KEPT).some((head) => !texts.has(head))) return 'lacks a head';
  const idle = history.some(({ kind, text }, index) => {
    const before = history[index + 1];
    return (kind === 'saved' || kind === 'merged') && before?.text === text && before.kind !== 'removed';
  });
  return idle ? 'has a version that changed nothing' : undefined;
}

/** A process as the system knows it. Times are µs. */
export interface Running {
  readonly pid: number;
  readonly started: number;
  /** It is a program that removes files to make them anew, as git does. */
  readonly remakes: boolean;
}

/** What processes can do to the files of one memory folder: system calls, each with the error it may answer. */
export interface System {
  /** The process of a name, started when it is not running. */
  process(who: Process): Running;
  /** A program with nothing open ends. */
  end(who: Process): void;
  readonly now: number;
  /** Lets so much time pass that nothing after it is "at once". */
  wait(): void;
  /** Opens with the flags of a mode (`create` is O_CREAT with O_EXCL); a descriptor, or the name of an error. */
  open(who: Process, name: string, mode: Mode): Promise<number | string>;
  /** From the start to the end. */
  read(who: Process, fd: number): Promise<string>;
  write(who: Process, fd: number, offset: number | null, data: string): Promise<void>;
  truncate(who: Process, fd: number, size: number): Promise<void>;
  /** Closes a copy of a descriptor; false where the system cannot make one. */
  closeCopy(who: Process, fd: number): Promise<boolean>;
  /** Another process of the session closes its copy. */
  closeInherited(who: Process, fd: number): Promise<void>;
  close(who: Process, fd: number): Promise<void>;
  rename(who: Process, from: string, to: string): Promise<string | undefined>;
  unlink(who: Process, name: string): Promise<string | undefined>;
  see(name: string): Promise<Seen>;
}

const READING: ReadonlySet<Operation> = new Set(['read', 'keep', 'again', 'drop', 'look']);
/** Versions kept of a file (§4.9). */
const VERSIONS_KEPT = 20;

interface Writing {
  readonly fd: number;
  readonly opened: Opened;
  readonly name: string;
  readonly mode: Mode;
  at: number;
  /** The rest of a text of which the first half is written. */
  rest: string | undefined;
}

/** What a process has going on. */
interface Going {
  reading: { readonly fd: number; readonly opened: Opened } | undefined;
  writing: Writing | undefined;
  temporary:
    | { readonly path: string; readonly target: string; readonly text: string; readonly moment: Moment }
    | undefined;
}
type Moment = ReturnType<Reference['moment']>;

/** Thrown when the system did what the reference does not allow. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

/** Plays steps on a system, and checks after each call that the reference allows what everybody sees. */
export class Player {
  readonly reference = new Reference();
  /** The steps played so far. */
  readonly steps: Step[] = [];
  /** Every text that each file had. */
  readonly heads = new Map<string, string[]>();
  readonly #system: System;
  readonly #files: readonly string[];
  readonly #going = new Map<string, Going>();
  readonly #times = new Map<string, Seen>();
  #temporaries = 0;

  constructor(system: System, files: readonly string[]) {
    this.#system = system;
    this.#files = files;
    for (const name of files) this.heads.set(name, []);
  }

  going(who: Process): Going {
    const key = who.session + who.role;
    let going = this.#going.get(key);
    if (!going) {
      going = { reading: undefined, writing: undefined, temporary: undefined };
      this.#going.set(key, going);
    }
    return going;
  }

  /**
   * Plays one step. A step that makes no sense now (closing what is not open) does nothing.
   * @throws {Broken} when the system did something else than the reference allows.
   */
  async play(step: Step): Promise<void> {
    this.steps.push(step);
    if (step.late) this.#system.wait();
    const { process, operation, file } = step;
    const going = this.going(process);
    switch (operation) {
      case 'read':
        await this.#readOnce(process, file);
        break;
      case 'keep':
        if (!going.reading) {
          const found = await this.#open(process, file, 'read');
          if (found) going.reading = found;
        }
        break;
      case 'again':
        if (going.reading) await this.#read(process, going.reading);
        break;
      case 'drop':
        if (going.reading) await this.#close(process, going.reading);
        going.reading = undefined;
        break;
      case 'trunc':
      case 'rw':
      case 'append':
      case 'create': {
        if (going.writing) break;
        const found = await this.#open(process, file, operation);
        if (found) going.writing = { ...found, name: file, mode: operation, at: 0, rest: undefined };
        break;
      }
      case 'look':
        if (going.writing?.mode === 'rw') await this.#read(process, going.writing);
        break;
      case 'put':
        if (going.writing) await this.#put(step, going.writing, false);
        break;
      case 'half':
        if (going.writing) await this.#put(step, going.writing, true);
        break;
      case 'copy':
        if (going.writing) {
          if (await this.#system.closeCopy(process, going.writing.fd))
            this.reference.closedCopy(this.#caller(process), going.writing.opened, true);
          await this.#settle();
        }
        break;
      case 'child':
        if (going.writing) {
          await this.#system.closeInherited(process, going.writing.fd);
          await this.#settle();
        }
        break;
      case 'close':
        if (going.writing) await this.#close(process, going.writing, going.reading);
        going.writing = undefined;
        break;
      case 'swap':
      case 'swapo':
      case 'temp':
        if (!going.temporary) await this.#temporary(step, going, operation === 'swapo');
        if (operation !== 'temp') await this.#move(process, going);
        break;
      case 'move':
        await this.#move(process, going);
        break;
      case 'unlink':
        await this.#unlink(process, file);
        break;
    }
    if (!going.reading && !going.writing && !going.temporary) this.#system.end(process);
    // What only reads changes nothing; if it does, the next step shows it.
    if (!READING.has(operation)) await this.#check(this.#files);
  }

  /** Closes everything; then every session reads every file as everybody else does. */
  async finish(sessions: readonly Session[]): Promise<void> {
    for (const [key, going] of this.#going) {
      const process = { session: key[0] as Session, role: key.slice(1) as Process['role'] };
      const end = (operation: Step['operation']) =>
        this.play({ late: false, process, operation, file: '', edit: { from: 'known', changes: [] } });
      if (going.writing) await end('close');
      if (going.reading) await end('drop');
    }
    for (const session of sessions) for (const file of this.#files) await this.#readOnce({ session, role: '' }, file);
  }

  async #readOnce(who: Process, name: string): Promise<void> {
    const found = await this.#open(who, name, 'read');
    if (!found) return;
    await this.#read(who, found);
    await this.#close(who, found);
  }

  async #open(who: Process, name: string, mode: Mode): Promise<{ fd: number; opened: Opened } | undefined> {
    const there = this.reference.content(name) !== null;
    const answer = await this.#system.open(who, name, mode);
    const caller = this.#caller(who);
    if (typeof answer === 'string') {
      if (answer === 'ENOENT' && (mode === 'read' || mode === 'rw')) {
        this.#fail(this.reference.missed(caller, name));
      } else if (answer !== 'EEXIST' || mode !== 'create' || !there) this.#fail(`open ${name} fails with ${answer}`);
      await this.#settle();
      return undefined;
    }
    const makes =
      (mode === 'create' && !(there && this.reference.isHidden(caller, name))) ||
      (!there && (mode === 'trunc' || mode === 'append'));
    const opened = makes ? this.reference.created(caller, name, mode) : this.reference.opened(caller, name, mode);
    if (typeof opened === 'string') return this.#fail(opened);
    await this.#settle();
    return { fd: answer, opened };
  }

  async #read(who: Process, { fd, opened }: { fd: number; opened: Opened }): Promise<void> {
    const text = await this.#system.read(who, fd);
    this.#fail(this.reference.read(this.#caller(who), opened, text));
  }

  async #close(
    who: Process,
    { fd, opened }: { fd: number; opened: Opened },
    other?: { opened: Opened },
  ): Promise<void> {
    const caller = this.#caller(who);
    this.reference.closed(caller, opened, other?.opened.file === opened.file);
    await this.#system.close(who, fd);
    await this.#settle();
  }

  #textOf({ process, edit }: Step, name: string): string {
    const source = this.reference.source(process.session, name, edit.from === 'older');
    return edited(linesOf(source ?? null), edit);
  }

  async #put(step: Step, writing: Writing, half: boolean): Promise<void> {
    const { process } = step;
    const { mode } = writing;
    // Another process of the session may have truncated the file; a hole is no text.
    writing.at = Math.min(writing.at, this.reference.sizeOf(writing.opened));
    if (writing.rest !== undefined) {
      const { rest } = writing;
      writing.rest = undefined;
      await this.#write(process, writing, mode === 'append' ? null : writing.at, rest);
      if (mode === 'rw') await this.#truncate(process, writing);
      return;
    }
    const goesOn = mode === 'append' || (mode !== 'rw' && writing.at > 0);
    if (mode === 'rw') writing.at = 0;
    const text = goesOn ? edited([], { ...step.edit, from: 'nothing' }) : this.#textOf(step, writing.name);
    const cut = half ? middle(text) : text.length;
    await this.#write(process, writing, mode === 'append' ? null : writing.at, text.slice(0, cut));
    if (half) writing.rest = text.slice(cut);
    else if (mode === 'rw') await this.#truncate(process, writing);
  }

  async #write(who: Process, writing: Writing, offset: number | null, data: string): Promise<void> {
    if (data === '') return;
    const caller = this.#caller(who);
    await this.#system.write(who, writing.fd, offset, data);
    this.reference.wrote(caller, writing.opened, offset, data);
    if (offset !== null) writing.at = offset + data.length;
  }

  async #truncate(who: Process, writing: Writing): Promise<void> {
    const caller = this.#caller(who);
    await this.#system.truncate(who, writing.fd, writing.at);
    this.reference.truncated(caller, writing.opened, writing.at);
  }

  async #temporary(step: Step, going: Going, ordinary: boolean): Promise<void> {
    const { process, file } = step;
    const text = this.#textOf(step, file);
    const number = this.#temporaries++;
    const { pid } = this.#system.process(process);
    const hex = (number + 0xa0).toString(16).padStart(12, '0');
    const path = ordinary ? `new-${number}-${file}` : `${file}.tmp.${pid}.${hex}`;
    const fd = await this.#system.open(process, path, 'create');
    if (typeof fd === 'string') return this.#fail(`a temporary file cannot be made: ${fd}`);
    const moment = this.reference.moment(this.#caller(process), file);
    if (text !== '') await this.#system.write(process, fd, 0, text);
    await this.#system.close(process, fd);
    going.temporary = { path, target: file, text, moment };
  }

  async #move(who: Process, going: Going): Promise<void> {
    const { temporary } = going;
    if (!temporary) return;
    going.temporary = undefined;
    const { target, text, moment } = temporary;
    if (this.reference.content(target) === null) this.reference.missed(this.#caller(who), target);
    this.reference.replaced(this.#caller(who), target, text, moment);
    const answer = await this.#system.rename(who, temporary.path, target);
    if (answer !== undefined) this.#fail(`rename fails with ${answer}`);
    await this.#settle();
  }

  async #unlink(who: Process, name: string): Promise<void> {
    const answer = await this.#system.unlink(who, name);
    const caller = this.#caller(who);
    if (answer === undefined) this.#fail(this.reference.unlinked(caller, name));
    else if (answer === 'ENOENT') this.#fail(this.reference.missed(caller, name));
    else this.#fail(`unlink fails with ${answer}`);
    await this.#settle();
  }

  #caller(who: Process): Caller {
    return { session: who.session, ...this.#system.process(who), at: this.#system.now };
  }

  /** Looks at the file that the last call may have changed; at the end of each step, `play` looks at all. */
  async #settle(): Promise<void> {
    const { awaited } = this.reference;
    if (awaited !== undefined) await this.#check([awaited]);
  }

  /** Looks at files as an outsider, and has the reference say whether that is right. */
  async #check(names: readonly string[]): Promise<void> {
    const found = new Map<string, Content>();
    for (const name of names) {
      const { text, mtime } = await this.#system.see(name);
      found.set(name, text);
      const last = this.#times.get(name);
      if (last && text !== null && (last.text === text ? mtime < last.mtime : mtime <= last.mtime))
        this.#fail(`${name} has the time ${mtime} after ${last.mtime}`);
      if (text === null) this.#times.delete(name);
      else this.#times.set(name, { text, mtime });
    }
    this.#fail(this.reference.check(found));
    for (const name of names) {
      const head = this.reference.head(name);
      const heads = this.heads.get(name);
      if (head !== null && heads && heads.at(-1) !== head) heads.push(head);
    }
  }

  #fail(reason: string | undefined): undefined {
    if (reason !== undefined) throw new Broken(`${reason}\n  after: ${printSchedule(this.steps)}`);
  }
}

/** Where the first half of a text ends: in the middle of a line that has a dot, else after a line. */
function middle(text: string): number {
  const lines = text.split('\n');
  const half = Math.floor((lines.length - 1) / 2);
  const before = lines.slice(0, half).reduce((sum, line) => sum + line.length + 1, 0);
  return before + (lines[half]?.indexOf('.') ?? -1) + 1;
}
