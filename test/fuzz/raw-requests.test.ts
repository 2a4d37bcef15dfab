import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { leave } from '../../src/tree/leaving.js';
import { pathOf, type TreeNode } from '../../src/tree/node.js';
import type { Tree } from '../../src/tree/tree.js';
import { randomSource } from '../fuse/annotated.js';
import { freshFolder } from '../store/fresh-store.js';
import { type Answer, checkAnswer, cut } from './answers.js';
import { type Known, type Message, Messages } from './messages.js';
import { type KernelEnd, World } from './world.js';

const ROUNDS = Number(process.env['MEND_FUZZ_ROUNDS'] ?? 50_000);
/** Another seed each day finds more with time; `MEND_SEED` repeats a run. */
const seed = Number(process.env['MEND_SEED'] ?? Math.floor(Date.now() / 86_400_000));
/** A request that the kernel sends again. */
const RESENT = 1n << 63n;
/** What lies in another project. */
const SECRET = 'not for this mount';

/** Lines of the log; a fault of ours is an `operation failed` there. */
const logged: string[] = [];
const writeSync = fs.writeSync;

beforeEach(() => {
  logged.length = 0;
  fs.writeSync = ((fd: number, ...rest: unknown[]) => {
    if (fd === 2) return logged.push(String(rest[0]));
    return (writeSync as (...args: unknown[]) => number)(fd, ...rest);
  }) as typeof fs.writeSync;
  syncBuiltinESMExports();
});

afterEach(() => {
  fs.writeSync = writeSync;
  syncBuiltinESMExports();
});

/** Whether a message is answered; undefined where damage may have made it one that is not. */
function takesAnswer({ bytes, opcode, isDamaged }: Message): boolean | undefined {
  if (bytes.length < 40) return false;
  const isSilent = [2, 36, 42].includes(opcode);
  return isSilent && (isDamaged || opcode === 42) ? undefined : !isSilent;
}

/** The kernel's side of one mount: sends at random, and checks that each answer is due and well formed. */
class Fuzzer {
  readonly #end: KernelEnd;
  readonly #messages: Messages;
  readonly #random: (bound: number) => number;
  readonly #open = new Map<bigint, Message>();
  readonly #nodes: bigint[];
  readonly #handles: bigint[];
  readonly #opened: [bigint, bigint][] = [];
  #unique = 0n;
  readonly counts = { answered: 0, successes: 0, silent: 0, notified: 0 };
  readonly errors = new Map<number, number>();

  constructor(end: KernelEnd, random: (bound: number) => number, foreign: Known) {
    this.#end = end;
    this.#random = random;
    this.#messages = new Messages(random);
    this.#nodes = [...foreign.nodes];
    this.#handles = [...foreign.handles];
  }

  get waiting(): number {
    return this.#open.size;
  }

  async step(): Promise<void> {
    this.#unique += 2n;
    const again = this.#random(25) === 0;
    // Sometimes one that was answered: it is to be done once more, or known as done.
    const number =
      again && this.#random(2) === 0 ? BigInt(2 * this.#random(Number(this.#unique / 2n)) + 2) : this.#unique;
    const unique = again ? number | RESENT : number;
    if (this.#open.has(unique)) return;
    const message = this.#messages.make(unique, { nodes: this.#nodes, handles: this.#handles, open: this.#opened });
    const takes = takesAnswer(message);
    if (takes !== false) this.#open.set(unique, message);
    await this.#end.send(message.bytes);
    this.take();
    if (takes === undefined && this.#open.delete(unique)) this.counts.silent++;
    if (takes === false) this.counts.silent++;
  }

  take(): void {
    for (const answer of cut(this.#end.received())) {
      if (answer.unique === 0n) {
        this.counts.notified++;
        continue;
      }
      const message = this.#open.get(answer.unique);
      if (!message) throw new Error(`an answer to ${answer.unique.toString(16)}, which none is due to`);
      this.#open.delete(answer.unique);
      try {
        checkAnswer(message, answer);
      } catch (error) {
        throw new Error(`the answer to ${message.bytes.toString('hex', 0, 400)} is wrong`, { cause: error });
      }
      this.#learn(message, answer);
    }
  }

  #learn({ opcode, bytes }: Message, { errno, payload }: Answer): void {
    this.counts.answered++;
    if (errno !== 0) {
      this.errors.set(errno, (this.errors.get(errno) ?? 0) + 1);
      return;
    }
    this.counts.successes++;
    if (payload.includes(SECRET)) throw new Error('bytes of another project');
    if ([1, 8, 9, 35].includes(opcode)) this.#remember(this.#nodes, payload.readBigUInt64LE(0));
    if (opcode === 14) this.#noteOpen(bytes.readBigUInt64LE(16), payload.readBigUInt64LE(0));
    if (opcode === 35) this.#noteOpen(payload.readBigUInt64LE(0), payload.readBigUInt64LE(128));
  }

  #noteOpen(node: bigint, handle: bigint): void {
    this.#remember(this.#handles, handle);
    this.#remember(this.#opened, [node, handle]);
  }

  #remember<T>(list: T[], value: T): void {
    if (list.length < 200) list.push(value);
    else list[this.#random(list.length)] = value;
  }
}

function* below(node: TreeNode): Generator<TreeNode> {
  yield node;
  if (node.kind === 'directory') for (const child of node.children.values()) yield* below(child);
}

/** Names, kinds, contents and lengths of memory, as a tree in memory has them. */
const listing = (tree: Tree): string[] =>
  [...below(tree.root)]
    .map(
      (node) => `${pathOf(node)} ${node.kind}${node.kind === 'file' ? ` ${node.content ?? 'none'} ${node.size}` : ''}`,
    )
    .sort();

/** A file in another project, and everything of it that a request could name. */
function addSecret(world: World, tree: Tree): Known {
  const { store } = world;
  const now = store.now;
  const [content, id] = store.write(() => {
    const bytes = store.putContent(Buffer.from(`${SECRET}\n`));
    const row = { id: store.newId(), tree: tree.id, mount: 0, parent: tree.root.id, name: 'secret.md', content: bytes };
    const node = {
      ...row,
      kind: 'file' as const,
      size: SECRET.length + 1,
      mtime: now,
      atime: now,
      ctime: now,
      shown: now,
    };
    store.insertNode(node);
    store.saveHead(node, 'secret.md', 'saved', store.sessionRow({ key: 's', name: 's' }));
    return [bytes, row.id] as const;
  });
  tree.follow([id]);
  const numbers = [content, id, tree.id, tree.root.id].map(BigInt);
  return {
    open: [],
    nodes: numbers,
    handles: numbers.flatMap((row) => [0n, 1n, 2n].map((kind) => (kind << 60n) | row)),
  };
}

const rowsOf = (world: World, tree: Tree): string =>
  JSON.stringify(
    ['node', 'version', 'draft', 'change'].map((table) =>
      world.store.db.prepare(`SELECT * FROM ${table} WHERE tree = ? ORDER BY 1, 2, 3`).all(tree.id),
    ),
  );

test(
  `${ROUNDS} requests at random on two mounts: each is answered once and in form, and no other project is reached`,
  async () => {
    const world = new World(freshFolder());
    const other = world.addTree('other');
    const foreign = addSecret(world, other);
    const before = rowsOf(world, other);
    const tree = world.addTree('project');
    const random = randomSource(seed);
    const mounts = [world.mount(tree), world.mount(tree)];
    const unconcerned = world.mount(other);
    const fuzzers = mounts.map((mount) => new Fuzzer(mount, random, foreign));
    for (let round = 0; round < ROUNDS; round++) {
      try {
        await fuzzers[random(4) === 0 ? 1 : 0]?.step();
        if (round % 500 === 0) world.tick();
      } catch (error) {
        throw new Error(`round ${round}, MEND_SEED=${seed}`, { cause: error });
      }
      expect(
        logged.filter((line) => / operation failed /.test(line)),
        `round ${round}, MEND_SEED=${seed}`,
      ).toEqual([]);
      logged.length = 0;
    }
    for (let turn = 0; turn < 6000 && fuzzers.some(({ waiting }) => waiting > 0); turn++) {
      await delay(10);
      for (const fuzzer of fuzzers) fuzzer.take();
    }
    expect(fuzzers.map(({ waiting }) => waiting)).toEqual([0, 0]);
    expect(unconcerned.received().length).toBe(0);
    expect(rowsOf(world, other)).toBe(before);

    // Both must come up, or the requests are of no use.
    const { answered, successes } = fuzzers[0]?.counts ?? { answered: 0, successes: 0 };
    expect(successes).toBeGreaterThan(answered / 10);
    expect(successes).toBeLessThan(answered);

    for (const { view } of mounts) leave(view);
    world.tick();
    for (const mount of [...mounts, unconcerned]) mount.close();
    expect(world.store.db.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(world.store.db.pragma('foreign_key_check')).toEqual([]);
    const row = { id: tree.id, project: world.store.trees.get(tree.id)?.project ?? 0 };
    expect(listing(world.load(row))).toEqual(listing(tree));
    const counted = world.store.trees.usage(row.project);
    expect({ files: tree.quota.files, bytes: tree.quota.bytes, claimed: tree.quota.claimed }).toEqual({
      files: counted.files,
      bytes: counted.bytes,
      claimed: counted.bytes,
    });
    world.store.close();
  },
  Math.max(120_000, ROUNDS * 5),
);
