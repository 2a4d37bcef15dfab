import { allowedBases, type Base, type Moment, NOTHING, POSSIBLY, type Sight } from './bases.js';
import type { Session } from './schedule.js';
import { type Content, linesOf, mergeFault } from './texts.js';

/** A process at the time of a call. Times are µs. */
export interface Caller {
  readonly session: Session;
  readonly pid: number;
  readonly started: number;
  /** It is a program that removes files to make them anew. */
  readonly remakes: boolean;
  readonly at: number;
}

export type Mode = 'read' | 'trunc' | 'rw' | 'append' | 'create';

/** A file by its identity, which a rename over its name takes the name from. */
interface File {
  /** Null once it was unlinked or replaced. */
  name: string | null;
  /** The name it has or had. */
  readonly path: string;
  removedBy: Session | undefined;
  /** What everybody sees; null before the first save. */
  head: string | null;
  savedBy: Session | undefined;
  readonly drafts: Map<Session, Draft>;
  readonly open: Set<Opened>;
}

/** A text as it may be now, and the content whose bytes it began with. */
interface Version {
  readonly start: string;
  readonly text: string;
}

/** What a session wrote to a file and has not saved. */
interface Draft {
  dirty: boolean;
  /** More than one where a descriptor may show either of two contents after a save that was merged. */
  versions: readonly Version[];
  /** The file had no head when the draft began. */
  fresh: boolean;
  /** Bytes of the start from `covered` to `left` are still in the text. */
  covered: number;
  left: number;
  /** The first and the last time that it was written. */
  moments: readonly Moment[];
  readonly open: Set<Opened>;
}

/** An open file. */
export interface Opened {
  readonly file: File;
  readonly session: Session;
  readonly mode: Mode;
  /** The contents that it may show while its session has written nothing. */
  shows: readonly string[];
  /** Opened before the file was first saved. */
  fresh: boolean;
  readonly draft: Draft | undefined;
  readonly writers: Set<number>;
  /** Truncated or created the file by opening it, and nobody has written yet. */
  opener: number | undefined;
  wasRead: boolean;
}

/** One thing that the spec allows a file to be after a call. */
type Option =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'merged'; readonly base: Content; readonly text: string };

interface Expected {
  readonly session: Session;
  readonly name: string;
  readonly options: readonly Option[];
  /** The session never saw what it replaces, or removes the file. */
  readonly blind: boolean;
  readonly done: (found: Content, chosen: Option) => void;
}

/**
 * What the spec promises, told from the calls that processes make and the answers they get. After each call, `check`
 * compares what everybody sees now with what it may be:
 *
 * - Nothing changes a head but a save: the close of a file by a process that wrote through that descriptor, the last
 *   close of a file that is not saved by then, a rename over it, and unlink (§4.2, 4.5–4.7).
 * - A save merges text and head by the base (§6.1–6.2): a line that the text has and the base has not is there
 *   afterwards, and so is a line that the head has and the base has not; a line of the base that is missing in the text
 *   or in the head is gone; every line is there once, in the order that text and head have it in.
 * - The base is what `allowedBases` says; for a text that still holds bytes of the content it was begun on (an append,
 *   a change in the middle) it is that content. A session that never saw the file replaces it (§5.4), but a file that
 *   was not there, or empty because somebody was making it, has an empty base.
 * - A text saved on a file that somebody else removed is the file's whole content again (§6.2: a removal against a
 *   change keeps the change). What a session writes to a file that it removed or replaced itself is lost, as POSIX says.
 * - Whatever the base was, no line goes that the saving session was never served (§5.5), unless it never saw the file.
 * - unlink removes the file unless its session knew a content that is not the head (§4.7). To a program
 *   that removes files to make them anew it seems gone for a moment.
 * - Every process of a session reads its draft, others what they opened (§4.2–4.3).
 */
export class Reference {
  readonly #files = new Map<string, File>();
  readonly #sights = new Map<string, readonly Sight[]>();
  readonly #seen = new Map<string, Set<string>>();
  readonly #born = new Map<string, number>();
  /** Heads that a session tried to remove in vain. To try again may well remove them. */
  readonly #refused = new Map<string, { readonly head: Content; readonly pid: number; readonly at: number }>();
  #expected: Expected | undefined;

  /** What everybody sees of a name. */
  content(name: string): Content {
    const file = this.#files.get(name);
    return file ? (file.head ?? '') : null;
  }

  /** What a name's file was saved as last; null when it is missing or was never saved. */
  head(name: string): string | null {
    return this.#files.get(name)?.head ?? null;
  }

  /** What a session would make its next text of; undefined when it never saw the file. */
  source(session: Session, name: string, older = false): Content | undefined {
    const draft = this.#files.get(name)?.drafts.get(session);
    const text = draft?.dirty ? draft.versions[0]?.text : undefined;
    // A file that was opened and truncated is to get its text now.
    if (text && !older) return text;
    const sights = this.#sightsOf(session, name);
    const last = sights.at(-1)?.values[0];
    if (!older) return last;
    return sights.findLast(({ values }) => values[0] !== last)?.values[0] ?? last;
  }

  /** Whether a program has just removed a file in vain that it is about to make anew: it finds that the file is gone. */
  isHidden({ session, pid, remakes, at }: Caller, name: string): boolean {
    const refused = this.#refused.get(keyOf(session, name));
    return remakes && refused?.pid === pid && refused.head === this.head(name) && at - refused.at < POSSIBLY;
  }

  /** A process found that a name is not there; the reason why that is wrong, if it is. */
  missed(caller: Caller, name: string): string | undefined {
    if (this.isHidden(caller, name)) return undefined;
    if (this.#files.has(name)) return 'says that the file is not there';
    this.#look(caller, name, [null], true);
    return undefined;
  }

  /** A process opened a file that was there. To one that is hidden from it, it gave a new text from the start. */
  opened(caller: Caller, name: string, mode: Mode): Opened | string {
    const file = this.#files.get(name);
    if (!file) return 'says that the file is there';
    const { session, pid } = caller;
    const writes = mode !== 'read';
    const own = writes ? this.#draftOf(file, session) : file.drafts.get(session);
    const opened: Opened = {
      ...{ file, session, mode, shows: [file.head ?? ''], fresh: file.head === null },
      draft: writes || own?.dirty ? own : undefined,
      ...{ writers: new Set<number>(), opener: undefined, wasRead: false },
    };
    if (
      (mode === 'trunc' || (writes && this.isHidden(caller, name))) &&
      own &&
      (own.dirty ? own.versions.some(({ text }) => text !== '') : !opened.fresh)
    ) {
      this.#change(caller, opened, own, () => '');
      opened.opener = pid;
    }
    file.open.add(opened);
    opened.draft?.open.add(opened);
    return opened;
  }

  /** A process made a file that was not there, and has it open for writing. */
  created(caller: Caller, name: string, mode: Mode): Opened | string {
    const wrong = this.missed(caller, name);
    if (wrong !== undefined) return wrong;
    const file: File = {
      ...{ name, path: name, removedBy: undefined, head: null, savedBy: undefined },
      ...{ drafts: new Map<Session, Draft>(), open: new Set<Opened>() },
    };
    this.#files.set(name, file);
    this.#await(caller, name, [{ kind: 'text', text: '' }], () => undefined, true);
    const opened = this.opened(caller, name, mode);
    if (typeof opened === 'string' || !opened.draft) return opened;
    this.#change(caller, opened, opened.draft, () => '');
    opened.opener = caller.pid;
    return opened;
  }

  /** A process read an open file from its start to its end. */
  read(caller: Caller, opened: Opened, text: string): string | undefined {
    const { file, session } = opened;
    const draft = file.drafts.get(session);
    const first = !opened.wasRead;
    opened.wasRead = true;
    if (draft?.dirty) {
      const versions = draft.versions.filter((version) => version.text === text);
      if (versions.length === 0) return `shows the session's own draft as something else: [${linesOf(text).join(' ')}]`;
      draft.versions = versions;
      return undefined;
    }
    if (!opened.shows.includes(text)) return `shows something else than was opened: [${linesOf(text).join(' ')}]`;
    opened.shows = [text];
    // What a session replaced itself, or reads once more, or looks at as soon as it has written it, may or may not count
    // as what it knows last.
    const last = this.#sightsOf(session, file.path).findLast((sight) => sight.doubtful !== true);
    const echo = last?.read === false && last.pid === caller.pid && caller.at - last.at < POSSIBLY;
    const doubtful = !first || echo || (file.name === null && file.removedBy === session);
    this.#look(caller, file.path, [text], true, doubtful);
    return undefined;
  }

  /** The length of what an open file shows. */
  sizeOf({ file, session, shows }: Opened): number {
    const draft = file.drafts.get(session);
    const texts = draft?.dirty ? draft.versions.map(({ text }) => text) : shows;
    return Math.min(...texts.map((text) => text.length));
  }

  /** A process wrote through an open file; `offset` null appends. */
  wrote(caller: Caller, opened: Opened, offset: number | null, data: string): void {
    const { draft } = opened;
    if (!draft) return;
    this.#change(caller, opened, draft, (text) => {
      const at = offset ?? text.length;
      if (at <= draft.covered) draft.covered = Math.max(draft.covered, at + data.length);
      return text.slice(0, at) + data + text.slice(at + data.length);
    });
    opened.writers.add(caller.pid);
    opened.opener = undefined;
  }

  truncated(caller: Caller, opened: Opened, size: number): void {
    const { draft } = opened;
    if (!draft) return;
    this.#change(caller, opened, draft, (text) => text.slice(0, size));
    opened.writers.add(caller.pid);
  }

  /** A process closed a copy of a descriptor; `holds` when it has the file open still. */
  closedCopy(caller: Caller, opened: Opened, holds: boolean): void {
    const { draft, file, session } = opened;
    if (opened.mode === 'read' || !draft?.dirty) return;
    if (opened.opener === caller.pid && file.name !== null) {
      // A file that its session tried to remove has no name in the eyes of the kernel, and nobody is seen to hold it.
      if (holds && draft.open.size > 1 && this.#refused.has(keyOf(session, file.path)))
        this.#save(caller, file, draft, true);
      if (!holds) opened.writers.add(caller.pid);
    }
    if (!opened.writers.has(caller.pid)) return;
    if (file.name === null && file.removedBy === session) return;
    this.#save(caller, file, draft);
  }

  /** A process closed the last copy of a descriptor; `holds` when it has the file open otherwise. */
  closed(caller: Caller, opened: Opened, holds: boolean): void {
    const { draft, file, session } = opened;
    this.closedCopy(caller, opened, holds);
    file.open.delete(opened);
    if (!draft) return;
    if (!this.#expected && draft.dirty && draft.open.size === 1) {
      if (file.name === null && file.removedBy === session) draft.dirty = false;
      else this.#save(caller, file, draft);
    }
    draft.open.delete(opened);
  }

  /** A moment of writing, for a temporary file of this name's. */
  moment({ session, pid, at, started }: Caller, name: string): Moment {
    return { sights: this.#sightsOf(session, name), pid, at, started };
  }

  /** A process renamed a file of its own over a name, which may be missing; `moment` is when it wrote the text. */
  replaced(caller: Caller, name: string, text: string, moment: Moment): void {
    const { session } = caller;
    const old = this.#files.get(name);
    const moments = [moment, this.moment(caller, name)];
    const head = old?.head ?? null;
    const options = this.#options(head, [{ start: '', text }], (it) => {
      const bases = allowedBases(moments, caller, it.text);
      return bases.has(NOTHING) && this.#bornSince(name, moments) ? bases.add('') : bases;
    });
    const blind = moments.some(({ sights }) => sights.length === 0);
    const done = (found: Content) => {
      if (old) {
        old.name = null;
        old.removedBy = session;
      }
      this.#files.set(name, {
        ...{ name, path: name, removedBy: undefined, head: found, savedBy: found === head ? old?.savedBy : session },
        ...{ drafts: new Map(), open: new Set() },
      });
      this.#wrote(caller, name, [text], moments);
      if (!old || old.head === null) this.#born.set(name, caller.at);
    };
    this.#await(caller, name, options, done, blind);
  }

  /** A process unlinked a name that is there, and was told that this went well. */
  unlinked(caller: Caller, name: string): string | undefined {
    const file = this.#files.get(name);
    if (!file) return 'says that the file is there';
    const { session } = caller;
    const key = keyOf(session, name);
    const known = this.#knownTo(session, name);
    const knows = file.head === null || !known || known.includes(file.head);
    // Who saw no file at all may remove an empty one.
    const empty = file.head === '' && known?.includes(null) === true;
    const unsure =
      empty || (known && known.length > 1) || file.savedBy === session || this.#refused.get(key)?.head === file.head;
    const options: Option[] = [];
    if (knows || unsure) options.push({ kind: 'gone' });
    if (!knows || (unsure && file.head !== null)) options.push({ kind: 'unchanged' });
    const done = (found: Content) => {
      if (found !== null) {
        this.#refused.set(key, { head: found, pid: caller.pid, at: caller.at });
        // The session takes the file for removed; mend knows that it is not. Its next text may be made from either.
        if (known) this.#look(caller, name, [...known, null], false);
        return;
      }
      file.name = null;
      file.removedBy = session;
      this.#files.delete(name);
      this.#look(caller, name, [null], false);
    };
    this.#await(caller, name, options, done, true);
    return undefined;
  }

  /** The name whose file the last call may have changed, until `check` has seen it. */
  get awaited(): string | undefined {
    return this.#expected?.name;
  }

  /** Compares what everybody sees with what it may be; the reason why it is wrong, if it is. */
  check(found: ReadonlyMap<string, Content>): string | undefined {
    const expected = this.#expected;
    this.#expected = undefined;
    let wrong: string | undefined;
    for (const [name, content] of found) {
      const before = this.content(name);
      if (name === expected?.name) wrong ??= this.#checkChange(expected, before, content);
      else if (content !== before) wrong ??= `${name} changed although nobody saved it: ${shown(content)}`;
    }
    return wrong;
  }

  #checkChange({ session, name, options, blind, done }: Expected, before: Content, found: Content): string | undefined {
    const reasons = options.map((option) => mismatch(option, before, found));
    const chosen = options[reasons.indexOf(undefined)];
    if (!chosen) return `${name} was ${shown(before)} and is ${shown(found)}: ${reasons.join(', or ')}`;
    const seen = this.#seen.get(keyOf(session, name));
    const there = new Set(linesOf(found));
    const lost = blind ? [] : linesOf(before).filter((line) => !there.has(line) && !seen?.has(line));
    if (lost.length > 0) return `${name} lost [${lost.join(' ')}], which ${session} never saw`;
    done(found, chosen);
    return undefined;
  }

  #await({ session }: Caller, name: string, options: readonly Option[], done: Expected['done'], blind: boolean): void {
    if (this.#expected) throw new Error('one call, one change');
    this.#expected = { session, name, options, blind, done };
  }

  #options(
    head: Content,
    versions: readonly Version[],
    basesOf: (version: Version) => Iterable<Base>,
  ): readonly Option[] {
    const options: Option[] = [];
    for (const version of versions) {
      const { text } = version;
      if (head === null) options.push({ kind: 'text', text });
      else {
        for (const base of basesOf(version))
          options.push(base === NOTHING ? { kind: 'text', text } : { kind: 'merged', base, text });
      }
    }
    return options;
  }

  #bornSince(name: string, moments: readonly Moment[]): boolean {
    return (this.#born.get(name) ?? 0) > (moments[0]?.at ?? 0);
  }

  /**
   * Awaits what a draft's save makes of the file: the one under its name where the draft's own was removed. With `maybe`
   * it may not take place.
   */
  #save(caller: Caller, file: File, draft: Draft, maybe = false): void {
    const { session } = caller;
    const target = this.#files.get(file.path) ?? file;
    const head = this.#files.has(file.path) ? target.head : null;
    const keeps = draft.covered < draft.left;
    const { fresh, moments } = draft;
    const options = this.#options(head, draft.versions, ({ start, text }) => {
      const hidden = this.isHidden(caller, file.path) ? (this.#knownTo(session, file.path) ?? []) : [];
      if (keeps) return [start, ...hidden];
      const bases = allowedBases(moments, caller, text);
      for (const known of hidden) bases.add(known);
      // It replaces a file that it never saw; the lines that others added since it was opened may stay.
      if (bases.has(NOTHING) || fresh) bases.add(start);
      if (bases.has(NOTHING) && fresh) bases.delete(NOTHING);
      // A file that came to be only since then was missing for who began.
      if (bases.has(NOTHING) && this.#bornSince(file.path, moments)) bases.add('');
      return bases;
    });
    const blind = moments.some(({ sights }) => sights.length === 0);
    const done = (found: Content, chosen: Option) => {
      if (chosen.kind === 'unchanged') return;
      if (!this.#files.has(file.path)) {
        file.name = file.path;
        file.removedBy = undefined;
        this.#files.set(file.path, file);
      }
      if (target.head === null || head === null) this.#born.set(file.path, caller.at);
      if (target.head !== found) target.savedBy = session;
      target.head = found;
      this.#saved(session, file, draft, found ?? '');
      this.#wrote(
        caller,
        file.path,
        draft.versions.map(({ text }) => text),
        moments,
      );
    };
    // Whoever writes over bytes in the middle, or goes on in a line without an end, has them gone, seen or not.
    const over = keeps && (draft.covered > 0 || !draft.versions.every(({ start }) => start.endsWith('\n')));
    const all: readonly Option[] = maybe ? [{ kind: 'unchanged' }, ...options] : options;
    this.#await(caller, file.path, all, done, over || (blind && !keeps));
  }

  /** Ends a draft: its session's open files show what it wrote, or what became of that. */
  #saved(session: Session, file: File, draft: Draft, found: string): void {
    draft.dirty = false;
    const texts = draft.versions.map(({ text }) => text);
    for (const opened of file.open) {
      if (opened.session !== session) continue;
      // What goes on being written at an offset must go on in what the session itself wrote.
      const exact = opened.mode === 'trunc' || opened.mode === 'create';
      opened.shows = exact ? texts : [...new Set([...texts, found])];
      opened.fresh = false;
      opened.writers.clear();
      opened.opener = undefined;
    }
  }

  /** From now on a session knows what it wrote; or what it read since then, which is later or not. */
  #wrote(caller: Caller, name: string, texts: readonly string[], moments: readonly Moment[]): void {
    const since = this.#sightsOf(caller.session, name).slice(moments.at(-1)?.sights.length ?? 0);
    this.#look(caller, name, [...texts, ...since.flatMap(({ values }) => values)], false);
  }

  #draftOf(file: File, session: Session): Draft {
    let draft = file.drafts.get(session);
    if (!draft) {
      draft = {
        ...{ dirty: false, versions: [], fresh: false, covered: 0, left: 0, moments: [] },
        open: new Set<Opened>(),
      };
      file.drafts.set(session, draft);
    }
    return draft;
  }

  #change(caller: Caller, opened: Opened, draft: Draft, change: (text: string) => string): void {
    if (!draft.dirty) {
      draft.dirty = true;
      draft.versions = opened.shows.map((text) => ({ start: text, text }));
      draft.fresh = opened.fresh;
      draft.covered = 0;
      draft.left = draft.versions[0]?.start.length ?? 0;
      draft.moments = [];
    }
    draft.versions = draft.versions.map(({ start, text }) => ({ start, text: change(text) }));
    const size = Math.min(...draft.versions.map(({ text }) => text.length));
    draft.left = Math.min(draft.left, size);
    draft.covered = Math.min(draft.covered, size);
    const moment = this.moment(caller, opened.file.path);
    draft.moments = [draft.moments[0] ?? moment, moment];
  }

  #look({ session, pid, at }: Caller, name: string, values: readonly Content[], read: boolean, doubtful = false) {
    const key = keyOf(session, name);
    this.#sights.set(key, [
      ...this.#sightsOf(session, name),
      { values: [...new Set(values)], pid, at, read, doubtful },
    ]);
    let seen = this.#seen.get(key);
    if (!seen) {
      seen = new Set();
      this.#seen.set(key, seen);
    }
    for (const value of values) for (const line of linesOf(value)) seen.add(line);
  }

  /** What a session knew last; more than one content where that can be told in several ways. */
  #knownTo(session: Session, name: string): readonly Content[] | undefined {
    const sights = this.#sightsOf(session, name);
    const certain = sights.findLast(({ doubtful }) => doubtful !== true)?.values;
    const last = sights.at(-1);
    return last?.doubtful === true ? [...last.values, ...(certain ?? [])] : certain;
  }

  #sightsOf(session: Session, name: string): readonly Sight[] {
    return this.#sights.get(keyOf(session, name)) ?? [];
  }
}

function keyOf(session: Session, name: string): string {
  return `${session} ${name}`;
}

function shown(content: Content): string {
  return content === null ? 'missing' : `[${linesOf(content).join(' ')}]`;
}

/** Why a file is not what an option says; undefined when it is. */
function mismatch(option: Option, before: Content, found: Content): string | undefined {
  switch (option.kind) {
    case 'unchanged':
      return found === before ? undefined : 'it should not have changed';
    case 'gone':
      return found === null ? undefined : 'it should be gone';
    case 'text':
      return found === option.text ? undefined : `it should be ${shown(option.text)}`;
    case 'merged': {
      if (found === null) return 'it should be there';
      const reason = mergeFault(found, option.base, before, option.text);
      return reason === undefined ? undefined : `by base ${shown(option.base)} it ${reason}`;
    }
  }
}
