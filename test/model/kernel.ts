import { constants } from 'node:os';
import { claude } from '../../src/harness/claude.js';
import { DEFAULT_LIMITS } from '../../src/ports/limits.js';
import { Knowledge } from '../../src/session/knowledge.js';
import { reconcile } from '../../src/session/reconcile.js';
import { SessionFinder } from '../../src/session/session-finder.js';
import { Store } from '../../src/store/store.js';
import type { TreeRow } from '../../src/store/tree-table.js';
import type { Fh } from '../../src/tree/handles.js';
import type { Merger } from '../../src/tree/merging.js';
import { Quota } from '../../src/tree/quota.js';
import { resume } from '../../src/tree/resuming.js';
import { Tree, type TreeServices } from '../../src/tree/tree.js';
import { type Caller, View } from '../../src/tree/view.js';
import { ViewOperations } from '../../src/tree/view-operations.js';
import { Died, immortal, type Mortality } from './mortal.js';
import type { Running, Seen, System, Version } from './play.js';
import { OUTSIDER, ProcessTable } from './process-table.js';
import { Random } from './random.js';
import type { Mode } from './reference.js';
import type { Process } from './schedule.js';

const { O_RDONLY, O_RDWR, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_APPEND } = (await import('node:fs')).constants;
const FLAGS: Record<Mode, number> = {
  read: O_RDONLY,
  rw: O_RDWR,
  trunc: O_WRONLY | O_CREAT | O_TRUNC,
  append: O_WRONLY | O_CREAT | O_APPEND,
  create: O_WRONLY | O_CREAT | O_EXCL,
};
const ERRORS = new Map(Object.entries(constants.errno).map(([name, code]) => [code, name]));
const ROOT = 1;
const HOUR = 3_600_000_000;
/** Between two steps, in µs. */
const MOMENT = 700;

interface Mount {
  readonly id: number;
  view: View;
  operations: ViewOperations;
}

interface Asker {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
}

interface Descriptor {
  readonly mount: Mount;
  readonly node: number;
  readonly fh: Fh;
  readonly flags: number;
  readonly pid: number;
}

/**
 * A memory folder served to made-up processes by the real code over a real store: requests are made here as the kernel
 * makes them for a process's system calls. With two mounts, harnesses work on the first and their programs on the other.
 */
export class Kernel implements System {
  readonly #store: Store;
  readonly #row: TreeRow;
  readonly #merger: Merger;
  readonly #mortality: Mortality;
  #tree: Tree;
  #mounts: readonly Mount[] = [];
  readonly #table = new ProcessTable();
  #knowledge: Knowledge;
  readonly #descriptors = new Map<number, Descriptor>();
  #time = Date.UTC(2026, 0, 1) * 1000;
  #nextFd = 3;
  #schedules = 0;
  #unique = 0;

  /**
   * @param folder of the store, made for it
   * @param mortality when the process that serves dies; its successor is asked again what was not answered
   */
  constructor(
    folder: string,
    mounts: 1 | 2 = 1,
    merger: Merger = { inPlace: false, reconcile },
    mortality: Mortality = immortal,
  ) {
    this.#merger = merger;
    this.#mortality = mortality;
    const machine = () => ({ machineId: 'a'.repeat(32), name: 'this-host' });
    const store = new Store(folder, { create: true, owner: 'test', machine });
    this.#store = store;
    // Nothing here outlives a loss of power.
    store.db.pragma('synchronous = OFF');
    this.#row = store.write(() => {
      const project = store.projects.create(['project'], store.now);
      return store.trees.create(project.id, 'claude', () => store.newId(), store.now);
    });
    store.committed = () => {
      if (this.#isAsked) mortality.mayDie();
    };
    [this.#tree, this.#knowledge] = this.#load();
    this.#mounts = Array.from({ length: mounts }, () => this.#mount(store.newId()));
  }

  /** True while a request is under way. */
  #isAsked = false;

  #load(): [Tree, Knowledge] {
    const store = this.#store;
    const { journal } = this.#mortality;
    const processes = this.#table.asProcesses((pid, path) =>
      [...this.#descriptors.values()].some((open) => open.pid === pid && pathOf(open) === path),
    );
    const clock = () => ++this.#time;
    const knowledge = new Knowledge(undefined, journal);
    const sessions = new SessionFinder(processes, clock, 'boot', this.#table.harnessOf, journal);
    knowledge.resume(this.#time);
    sessions.resume();
    const services: TreeServices = {
      ...{ store, journal, clock, processes, knowledge, sessions, merger: this.#merger, host: 'this-host' },
      tellPeers: () => undefined,
      hasPeers: () => false,
    };
    const quota = new Quota(DEFAULT_LIMITS, () => store.trees.usage(this.#row.project));
    return [new Tree(this.#row.id, services, quota), knowledge];
  }

  #mount(id: number): Mount {
    const view = new View(this.#tree, id, `/mount-${id}`, { forget: () => Promise.resolve() }, claude);
    return { id, view, operations: new ViewOperations(view) };
  }

  /** Another process takes over. */
  #revive(): void {
    this.#mortality.revive();
    [this.#tree, this.#knowledge] = this.#load();
    for (const mount of this.#mounts) {
      Object.assign(mount, this.#mount(mount.id));
      this.#store.requests.load(mount.id);
    }
    resume(
      this.#tree,
      this.#mounts.map(({ view }) => view),
    );
  }

  /** Makes a request, and makes it again when whoever served it died before it answered. */
  async #ask<T>(
    mount: Mount,
    asker: Asker,
    work: (operations: ViewOperations, caller: Caller) => T,
  ): Promise<Awaited<T>> {
    this.#unique += 2;
    const unique = this.#unique;
    for (let resent = false; ; resent = true) {
      const caller = { ...asker, unique, resent };
      this.#isAsked = true;
      try {
        this.#mortality.mayDie();
        const answer = await work(mount.operations, caller);
        this.#mortality.mayDie();
        this.#mortality.journal.flush();
        this.#mortality.mayDie();
        mount.operations.answered(caller);
        return answer;
      } catch (error) {
        if (!(error instanceof Died)) throw error;
        this.#isAsked = false;
        this.#revive();
      } finally {
        this.#isAsked = false;
      }
    }
  }

  /** Gives names another meaning from now on: files that are not there yet. The number of times this was done. */
  begin(): number {
    this.#mortality.begin(new Random(this.#schedules));
    this.#knowledge.takeUnsaved();
    return ++this.#schedules;
  }

  dispose(): void {
    this.#store.close();
  }

  get now(): number {
    return this.#time;
  }

  wait(): void {
    this.#time += HOUR;
  }

  process(who: Process): Running {
    return this.#table.find(who, this.#time);
  }

  end(who: Process): void {
    this.#table.end(who);
  }

  async open(who: Process, name: string, mode: Mode): Promise<number | string> {
    const { caller: asker, mount } = this.#calls(who);
    const flags = FLAGS[mode];
    const node = await this.#lookup(mount, asker, this.#real(name));
    if (node !== 0 && mode === 'create') return 'EEXIST';
    if (node === 0) {
      if ((flags & O_CREAT) === 0) return 'ENOENT';
      const made = await this.#ask(mount, asker, (to, caller) => to.create(caller, ROOT, this.#real(name), flags));
      if (typeof made === 'number') return errorName(made);
      return this.#descriptor(mount, made.entry.node, made.open, flags, asker.pid);
    }
    // What the kernel has seen to itself is not asked for again.
    const opened = await this.#ask(mount, asker, (to, caller) => to.open(caller, node, flags & ~(O_CREAT | O_EXCL)));
    if (typeof opened === 'number') return errorName(opened);
    return this.#descriptor(mount, node, opened, flags, asker.pid);
  }

  async read(who: Process, fd: number): Promise<string> {
    const { mount, node, fh } = this.#open(fd);
    let text = '';
    for (;;) {
      const slice = await this.#ask(mount, this.#calls(who).caller, (to, caller) =>
        to.read(caller, node, fh, text.length, 4096),
      );
      if (typeof slice === 'number') throw new Error(`read fails with ${errorName(slice)}`);
      if (slice.length === 0) return text;
      text += slice.data.toString('latin1', slice.start, slice.start + slice.length);
    }
  }

  async write(who: Process, fd: number, offset: number | null, data: string): Promise<void> {
    const { mount, node, fh, flags } = this.#open(fd);
    const bytes = Buffer.from(data, 'latin1');
    const answer = await this.#ask(mount, this.#calls(who).caller, (to, caller) =>
      to.write(caller, node, fh, offset ?? 0, bytes, flags, false),
    );
    if (typeof answer === 'number') throw new Error(`write fails with ${errorName(answer)}`);
  }

  async truncate(who: Process, fd: number, size: number): Promise<void> {
    const { mount, node, fh } = this.#open(fd);
    const answer = await this.#ask(mount, this.#calls(who).caller, (to, caller) =>
      to.setattr(caller, node, { size, fh }),
    );
    if (typeof answer === 'number') throw new Error(`truncate fails with ${errorName(answer)}`);
  }

  async closeCopy(who: Process, fd: number): Promise<boolean> {
    const { mount, node, fh } = this.#open(fd);
    await done(
      'close',
      this.#ask(mount, this.#calls(who).caller, (to, caller) => to.flush(caller, node, fh)),
    );
    return true;
  }

  async closeInherited(who: Process, fd: number): Promise<void> {
    await this.closeCopy({ ...who, role: who.role === '' ? "'" : '' }, fd);
  }

  async close(who: Process, fd: number): Promise<void> {
    const { mount, node, fh, flags } = this.#open(fd);
    const { caller: asker } = this.#calls(who);
    this.#descriptors.delete(fd);
    if (flags !== O_RDONLY)
      await done(
        'close',
        this.#ask(mount, asker, (to, caller) => to.flush(caller, node, fh)),
      );
    await done(
      'release',
      this.#ask(mount, asker, (to, caller) => to.release(caller, node, fh)),
    );
  }

  async rename(who: Process, from: string, to: string): Promise<string | undefined> {
    const { caller: asker, mount } = this.#calls(who);
    if ((await this.#lookup(mount, asker, this.#real(from))) === 0) return 'ENOENT';
    await this.#lookup(mount, asker, this.#real(to));
    const code = await this.#ask(mount, asker, (operations, caller) =>
      operations.rename(caller, ROOT, this.#real(from), ROOT, this.#real(to), 0),
    );
    return code === 0 ? undefined : errorName(code);
  }

  async unlink(who: Process, name: string): Promise<string | undefined> {
    const { caller: asker, mount } = this.#calls(who);
    if ((await this.#lookup(mount, asker, this.#real(name))) === 0) return 'ENOENT';
    const code = await this.#ask(mount, asker, (to, caller) => to.unlink(caller, ROOT, this.#real(name)));
    return code === 0 ? undefined : errorName(code);
  }

  async see(name: string): Promise<Seen> {
    const [mount] = this.#mounts as [Mount];
    const caller = { pid: OUTSIDER, uid: 1000, gid: 1000 };
    const entry = await mount.operations.lookup(caller, ROOT, this.#real(name));
    if (typeof entry === 'number') throw new Error(`lookup fails with ${errorName(entry)}`);
    if (entry.node === 0) return { text: null, mtime: 0 };
    const opened = mount.operations.open(caller, entry.node, O_RDONLY);
    if (typeof opened === 'number') throw new Error(`open fails with ${errorName(opened)}`);
    const fh = { high: opened.fhHigh, low: opened.fhLow };
    const slice = mount.operations.read(caller, entry.node, fh, 0, 65_536);
    if (typeof slice === 'number') throw new Error(`read fails with ${errorName(slice)}`);
    const text = slice.data.toString('latin1', slice.start, slice.start + slice.length);
    await done('release', mount.operations.release(caller, entry.node, fh));
    if (text.length !== entry.attr.size)
      throw new Error(`${name} has ${text.length} bytes, and says ${entry.attr.size}`);
    return { text, mtime: entry.attr.mtime };
  }

  /** A file's history, newest first. */
  history(name: string): Version[] {
    const rows = this.#store.versions.of(this.#tree.id, this.#real(name));
    return rows.map(({ content, kind }) => ({ kind, text: this.#store.content(content).toString('latin1') }));
  }

  /** How many of some files have unsaved drafts, and how many handles are open. */
  left(names: readonly string[]): { drafts: number; handles: number } {
    const files = names.map((name) => this.#tree.root.children.get(this.#real(name)));
    const drafts = files.filter((file) => file?.kind === 'file' && file.drafts !== undefined).length;
    return { drafts, handles: this.#mounts.reduce((sum, { view }) => sum + view.handles.size, 0) };
  }

  /** The name that a name of the schedule stands for now. */
  #real(name: string): string {
    return `${this.#schedules}-${name}`;
  }

  #calls(who: Process): { caller: { pid: number; uid: number; gid: number }; mount: Mount } {
    this.#time += MOMENT;
    const mount = this.#mounts[who.role === '' ? 0 : this.#mounts.length - 1] as Mount;
    return { caller: { pid: this.process(who).pid, uid: 1000, gid: 1000 }, mount };
  }

  async #lookup(mount: Mount, asker: Asker, name: string): Promise<number> {
    const entry = await this.#ask(mount, asker, (to, caller) => to.lookup(caller, ROOT, name));
    if (typeof entry === 'number') throw new Error(`lookup fails with ${errorName(entry)}`);
    return entry.node;
  }

  #descriptor(
    mount: Mount,
    node: number,
    opened: { fhHigh: number; fhLow: number },
    flags: number,
    pid: number,
  ): number {
    const fd = this.#nextFd++;
    this.#descriptors.set(fd, { mount, node, fh: { high: opened.fhHigh, low: opened.fhLow }, flags, pid });
    return fd;
  }

  #open(fd: number): Descriptor {
    const descriptor = this.#descriptors.get(fd);
    if (!descriptor) throw new Error(`descriptor ${fd} is not open`);
    return descriptor;
  }
}

/** Where a descriptor leads, as /proc tells it. */
function pathOf({ mount: { view }, node }: Descriptor): string | undefined {
  const file = view.node(node);
  return file?.parent ? `${view.path}/${file.name}` : undefined;
}

async function done(what: string, answer: number | Promise<number>): Promise<void> {
  const code = await answer;
  if (code !== 0) throw new Error(`${what} fails with ${errorName(code)}`);
}

function errorName(code: number): string {
  return ERRORS.get(code) ?? String(code);
}
