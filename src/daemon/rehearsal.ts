import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Opcode, Size } from '../fuse/constants.js';
import { decodeRequest } from '../fuse/decode.js';
import { type Dispatcher, dispatch } from '../fuse/dispatch.js';
import { WireWriter } from '../fuse/encode.js';
import { WireReader } from '../fuse/wire-reader.js';
import { memoryHarness } from '../harness/registry.js';
import { noJournal } from '../ports/journal.js';
import type { Limits } from '../ports/limits.js';
import { Knowledge } from '../session/knowledge.js';
import type { MachineIdentity } from '../store/projects.js';
import { Store } from '../store/store.js';
import { Quota } from '../tree/quota.js';
import { Tree, type TreeServices } from '../tree/tree.js';
import { View } from '../tree/view.js';
import { ViewOperations } from '../tree/view-operations.js';

/** Whose names are played with. */
const HARNESS = 'claude';

/** Saves that are rehearsed: about as many as it takes until the compiler has seen to every function on the way. */
const SAVES = 400;
/** How long, in ms, one piece of the rehearsal may keep a request waiting. */
const PIECE = 2;
/** How long, in ms, it waits while somebody calls. */
const WAIT = 20;
const NOTE = Buffer.alloc(2048, 'A line of a note, as long as notes are.\n');
const O_WRONLY_CREAT_EXCL = 0o301;

/**
 * Plays saves and reads on a store and tree of its own, through the code that serves a mount, in short pieces. A
 * JavaScript engine runs code slowly until it has seen it run often: without this, the first few hundred calls of
 * the first session take three times as long as later ones.
 * @param owner names this daemon among those that share the folder
 * @param isBusy tells whether somebody has called since it was asked last: calls go first
 */
export async function rehearse(
  folder: string,
  owner: string,
  machine: MachineIdentity,
  services: TreeServices,
  limits: Limits,
  isBusy: () => boolean,
): Promise<void> {
  removeRehearsals(folder, owner);
  const place = mkdtempSync(join(folder, 'run', prefixOf(owner)));
  const store = new Store(place, { create: true, owner: 'rehearsal', machine: () => machine });
  try {
    const stage = new Stage(store, services, limits);
    for (let turn = 0; turn < SAVES; ) {
      const until = performance.now() + PIECE;
      while (turn < SAVES && performance.now() < until) stage.play(turn++);
      await new Promise((resolve) => setImmediate(resolve));
      while (isBusy()) await new Promise((resolve) => setTimeout(resolve, WAIT));
    }
  } finally {
    store.close();
    rmSync(place, { recursive: true, force: true });
  }
}

/** Removes what a rehearsal that did not end left behind. */
export function removeRehearsals(folder: string, owner: string): void {
  const runs = join(folder, 'run');
  for (const name of readdirSync(runs)) {
    if (name.startsWith(prefixOf(owner))) rmSync(join(runs, name), { recursive: true, force: true });
  }
}

function prefixOf(owner: string): string {
  return `rehearsal-${owner}-`;
}

/** A mount without a kernel: requests are made here, and answers go nowhere. */
class Stage {
  readonly #bytes = Buffer.alloc(16 * 1024);
  readonly #reader = new WireReader(this.#bytes);
  readonly #dispatcher: Dispatcher;
  #unique = 0;

  constructor(store: Store, services: TreeServices, limits: Limits) {
    const project = store.projects.immediate(() => store.projects.create(['rehearsal'], store.now));
    const row = store.write(() => store.trees.create(project.id, HARNESS, () => store.newId(), store.now));
    const tree = new Tree(
      row.id,
      {
        ...services,
        store,
        journal: noJournal,
        knowledge: new Knowledge(),
        tellPeers: () => undefined,
        hasPeers: () => false,
      },
      new Quota(limits, () => store.trees.usage(project.id)),
    );
    const kernel = { forget: () => Promise.resolve() };
    const view = new View(tree, store.newId(), '/', kernel, memoryHarness(HARNESS));
    const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    this.#dispatcher = {
      operations: new ViewOperations(view),
      out: new WireWriter(Buffer.alloc(64 * 1024), owner),
      newWriter: () => new WireWriter(Buffer.alloc(256), owner),
      send: () => {},
      pending: () => {},
    };
  }

  /** Saves a note in place and through a temporary file, reads it, lists, and removes every other one. */
  play(turn: number): void {
    NOTE.writeUInt32LE(turn, 0);
    const name = `note-${turn % 100}.md`;
    this.#save(turn < 100 || turn % 2 === 0 ? `new-${turn}.md` : name);
    this.#save(`${name}.tmp.1.0123456789ab`);
    this.#call(Opcode.RENAME, 1, [u64(1), text(`${name}.tmp.1.0123456789ab`), text(name)]);
    const node = this.#lookup(name);
    this.#call(Opcode.GETATTR, node, [Buffer.alloc(16)]);
    const fh = this.#open(Opcode.OPEN, node, [Buffer.alloc(8)], 0);
    this.#call(Opcode.READ, node, [fh, u64(0), u32(4096), Buffer.alloc(20)]);
    this.#call(Opcode.RELEASE, node, [fh, Buffer.alloc(16)]);
    if (turn % 20 === 0) this.#call(Opcode.READDIRPLUS, 1, [u64(0), u64(0), u32(4096), Buffer.alloc(20)]);
    if (turn % 2 === 0) this.#call(Opcode.UNLINK, 1, [text(`new-${turn}.md`)]);
  }

  #save(name: string): void {
    this.#call(Opcode.LOOKUP, 1, [text(name)]);
    const fh = this.#open(Opcode.CREATE, 1, [u32(O_WRONLY_CREAT_EXCL), Buffer.alloc(12), text(name)], Size.ENTRY_OUT);
    const node = this.#dispatcher.out.bytes.readUInt32LE(Size.OUT_HEADER);
    this.#call(Opcode.WRITE, node, [fh, u64(0), u32(NOTE.length), Buffer.alloc(20), NOTE]);
    this.#call(Opcode.FLUSH, node, [fh, Buffer.alloc(16)]);
    this.#call(Opcode.RELEASE, node, [fh, Buffer.alloc(16)]);
  }

  #lookup(name: string): number {
    this.#call(Opcode.LOOKUP, 1, [text(name)]);
    return this.#dispatcher.out.bytes.readUInt32LE(Size.OUT_HEADER);
  }

  /** The handle in the answer, `skip` bytes into its payload. */
  #open(opcode: number, node: number, parts: readonly Buffer[], skip: number): Buffer {
    this.#call(opcode, node, parts);
    const at = Size.OUT_HEADER + skip;
    return Buffer.from(this.#dispatcher.out.bytes.subarray(at, at + 8));
  }

  #call(opcode: number, node: number, parts: readonly Buffer[]): void {
    const length = Size.IN_HEADER + parts.reduce((sum, part) => sum + part.length, 0);
    const header = [u32(length), u32(opcode), u64(++this.#unique), u64(node), u64(0), u32(process.pid), u32(0)];
    let at = 0;
    for (const part of [...header, ...parts]) at += part.copy(this.#bytes, at);
    this.#reader.limit(length);
    dispatch(this.#dispatcher, decodeRequest(this.#reader));
  }
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function text(name: string): Buffer {
  return Buffer.from(`${name}\0`);
}
