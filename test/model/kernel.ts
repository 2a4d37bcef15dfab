import { constants } from 'node:os';
import { claude } from '../../src/harness/claude.js';
import { DEFAULT_LIMITS } from '../../src/ports/limits.js';
import { Knowledge } from '../../src/session/knowledge.js';
import { reconcile } from '../../src/session/reconcile.js';
import { SessionFinder } from '../../src/session/session-finder.js';
import { Store } from '../../src/store/store.js';
import type { Fh } from '../../src/tree/handles.js';
import type { Merger } from '../../src/tree/merging.js';
import { Quota } from '../../src/tree/quota.js';
import { Tree, type TreeServices } from '../../src/tree/tree.js';
import { View } from '../../src/tree/view.js';
import { ViewOperations } from '../../src/tree/view-operations.js';
import type { Running, Seen, System, Version } from './play.js';
import { OUTSIDER, ProcessTable } from './process-table.js';
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
  readonly view: View;
  readonly operations: ViewOperations;
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
  readonly #tree: Tree;
  readonly #mounts: readonly Mount[];
  readonly #table = new ProcessTable();
  readonly #knowledge = new Knowledge();
  readonly #descriptors = new Map<number, Descriptor>();
  #time = Date.UTC(2026, 0, 1) * 1000;
  #nextFd = 3;
  #schedules = 0;

  /** @param folder of the store, made for it */
  constructor(folder: string, mounts: 1 | 2 = 1, merger: Merger = { inPlace: false, reconcile }) {
    const machine = () => ({ machineId: 'a'.repeat(32), name: 'this-host' });
    const store = new Store(folder, { create: true, owner: 'test', machine });
    this.#store = store;
    // Nothing here outlives a loss of power.
    store.db.pragma('synchronous = OFF');
    const row = store.write(() => {
      const project = store.projects.create(['project'], store.now);
      return store.trees.create(project.id, 'claude', () => store.newId(), store.now);
    });
    const processes = this.#table.asProcesses((pid, path) =>
      [...this.#descriptors.values()].some((open) => open.pid === pid && pathOf(open) === path),
    );
    const clock = () => ++this.#time;
    const services: TreeServices = {
      ...{ store, clock, processes, knowledge: this.#knowledge, merger, host: 'this-host' },
      sessions: new SessionFinder(processes, clock, 'boot', this.#table.harnessOf),
      tellPeers: () => undefined,
      hasPeers: () => false,
    };
    this.#tree = new Tree(row.id, services, new Quota(DEFAULT_LIMITS, () => store.trees.usage(row.project)));
    const cache = { forget: () => Promise.resolve() };
    this.#mounts = Array.from({ length: mounts }, (_, index) => {
      const view = new View(this.#tree, store.newId(), `/mount-${index}`, cache, claude);
      return { view, operations: new ViewOperations(view) };
    });
  }

  /** Gives names another meaning from now on: files that are not there yet. The number of times this was done. */
  begin(): number {
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
    const { caller, mount } = this.#calls(who);
    const flags = FLAGS[mode];
    const node = await this.#lookup(mount, caller, this.#real(name));
    if (node !== 0 && mode === 'create') return 'EEXIST';
    if (node === 0) {
      if ((flags & O_CREAT) === 0) return 'ENOENT';
      const made = await mount.operations.create(caller, ROOT, this.#real(name), flags);
      if (typeof made === 'number') return errorName(made);
      return this.#descriptor(mount, made.entry.node, made.open, flags, caller.pid);
    }
    // What the kernel has seen to itself is not asked for again.
    const opened = await mount.operations.open(caller, node, flags & ~(O_CREAT | O_EXCL));
    if (typeof opened === 'number') return errorName(opened);
    return this.#descriptor(mount, node, opened, flags, caller.pid);
  }

  async read(who: Process, fd: number): Promise<string> {
    const { mount, node, fh } = this.#open(fd);
    let text = '';
    for (;;) {
      const slice = await mount.operations.read(this.#calls(who).caller, node, fh, text.length, 4096);
      if (typeof slice === 'number') throw new Error(`read fails with ${errorName(slice)}`);
      if (slice.length === 0) return text;
      text += slice.data.toString('latin1', slice.start, slice.start + slice.length);
    }
  }

  async write(who: Process, fd: number, offset: number | null, data: string): Promise<void> {
    const { mount, node, fh, flags } = this.#open(fd);
    const bytes = Buffer.from(data, 'latin1');
    const answer = mount.operations.write(this.#calls(who).caller, node, fh, offset ?? 0, bytes, flags, false);
    if (typeof answer === 'number') throw new Error(`write fails with ${errorName(answer)}`);
  }

  async truncate(who: Process, fd: number, size: number): Promise<void> {
    const { mount, node, fh } = this.#open(fd);
    const answer = await mount.operations.setattr(this.#calls(who).caller, node, { size, fh });
    if (typeof answer === 'number') throw new Error(`truncate fails with ${errorName(answer)}`);
  }

  async closeCopy(who: Process, fd: number): Promise<boolean> {
    const { mount, node, fh } = this.#open(fd);
    await done('close', mount.operations.flush(this.#calls(who).caller, node, fh));
    return true;
  }

  async closeInherited(who: Process, fd: number): Promise<void> {
    await this.closeCopy({ ...who, role: who.role === '' ? "'" : '' }, fd);
  }

  async close(who: Process, fd: number): Promise<void> {
    const { mount, node, fh, flags } = this.#open(fd);
    const { caller } = this.#calls(who);
    this.#descriptors.delete(fd);
    if (flags !== O_RDONLY) await done('close', mount.operations.flush(caller, node, fh));
    await done('release', mount.operations.release(caller, node, fh));
  }

  async rename(who: Process, from: string, to: string): Promise<string | undefined> {
    const { caller, mount } = this.#calls(who);
    if ((await this.#lookup(mount, caller, this.#real(from))) === 0) return 'ENOENT';
    await this.#lookup(mount, caller, this.#real(to));
    const code = await mount.operations.rename(caller, ROOT, this.#real(from), ROOT, this.#real(to), 0);
    return code === 0 ? undefined : errorName(code);
  }

  async unlink(who: Process, name: string): Promise<string | undefined> {
    const { caller, mount } = this.#calls(who);
    if ((await this.#lookup(mount, caller, this.#real(name))) === 0) return 'ENOENT';
    const code = await mount.operations.unlink(caller, ROOT, this.#real(name));
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

  async #lookup(
    { operations }: Mount,
    caller: { pid: number; uid: number; gid: number },
    name: string,
  ): Promise<number> {
    const entry = await operations.lookup(caller, ROOT, name);
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
