import { constants } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { JournalFile } from '../../src/daemon/journal-file.js';
import { resume } from '../../src/tree/resuming.js';
import type { Tree } from '../../src/tree/tree.js';
import { freshFolder } from '../store/fresh-store.js';
import { type Answer, cut } from './answers.js';
import { u64 } from './messages.js';
import { type KernelEnd, World } from './world.js';

const { errno } = constants;
const [CREATE, OPEN, READ, WRITE, RELEASE, FLUSH] = [35, 14, 15, 16, 18, 25];
const O_RDWR = 2;

const u32 = (value: number): Buffer => u64(BigInt(value)).subarray(0, 4);
let unique = 0n;

function ask(end: KernelEnd, opcode: number, node: bigint, ...body: Buffer[]): Promise<Answer> {
  unique += 2n;
  return send(end, unique, opcode, node, ...body);
}

/** Sends a request under a number of the kernel's. */
async function send(end: KernelEnd, unique: bigint, opcode: number, node: bigint, ...body: Buffer[]): Promise<Answer> {
  const rest = Buffer.concat(body);
  const owner = [u32(process.getuid?.() ?? 0), u32(process.getgid?.() ?? 0), u32(process.pid), u32(0)];
  await end.send(Buffer.concat([u32(40 + rest.length), u32(opcode), u64(unique), u64(node), ...owner, rest]));
  for (;;) {
    const answers = [...cut(end.received())];
    const answer = answers.find((each) => each.unique === unique);
    if (answer) return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const read = (end: KernelEnd, node: bigint, fh: bigint) =>
  ask(end, READ, node, u64(fh), u64(0n), u32(100), Buffer.alloc(20));

const write = (end: KernelEnd, node: bigint, fh: bigint, text: string) =>
  ask(end, WRITE, node, u64(fh), u64(0n), u32(text.length), Buffer.alloc(20), Buffer.from(text));

/** Creates a file with a text, and leaves it open. */
async function create(end: KernelEnd, name: string, text: string): Promise<{ node: bigint; fh: bigint }> {
  const made = await ask(end, CREATE, 1n, u32(O_RDWR), Buffer.alloc(12), Buffer.from(`${name}\0`));
  const file = { node: made.payload.readBigUInt64LE(0), fh: made.payload.readBigUInt64LE(128) };
  expect((await write(end, file.node, file.fh, text)).errno).toBe(0);
  return file;
}

test('a handle that no journal has any more is made anew from its number; it leads to its own file and to no other', async () => {
  const world = new World(freshFolder());
  const [mine, others] = [world.addTree('mine'), world.addTree('others')];
  const [end, foreign] = [world.mount(mine), world.mount(others)];
  const secret = await create(foreign, 'secret.md', 'of another project');
  await ask(foreign, FLUSH, secret.node, u64(secret.fh), Buffer.alloc(16));
  let held = 0n;
  // Its number is none that the first mount has given out.
  for (let times = 0; times < 9; times++)
    held = (await ask(foreign, OPEN, secret.node, u32(0), u32(0))).payload.readBigUInt64LE(0);

  const saved = await create(end, 'saved.md', 'a head');
  await ask(end, FLUSH, saved.node, u64(saved.fh), Buffer.alloc(16));
  await ask(end, RELEASE, saved.node, u64(saved.fh), Buffer.alloc(16));
  const reader = (await ask(end, OPEN, saved.node, u32(0), u32(0))).payload.readBigUInt64LE(0);
  // A handle of one file says nothing of another, nor one of another mount.
  expect((await read(end, saved.node, held)).errno).toBe(errno.EBADF);
  expect((await read(end, secret.node, held)).errno).toBe(errno.ESTALE);

  const row = { id: mine.id, project: world.store.trees.get(mine.id)?.project ?? 0 };
  const again: Tree = world.load(row);
  const next = world.mount(again);
  expect((await read(next, saved.node, reader)).errno).toBe(errno.EBADF);
  next.view.settling.inherited = true;
  expect((await read(next, saved.node, reader)).payload.toString()).toBe('a head');
  expect((await read(next, saved.node, held)).errno).toBe(errno.EBADF);
  expect((await read(next, secret.node, held)).errno).toBe(errno.ESTALE);
  expect((await write(next, saved.node, reader, 'x')).errno).toBe(errno.EBADF);
  expect((await ask(next, RELEASE, saved.node, u64(reader), Buffer.alloc(16))).errno).toBe(0);
  for (const each of [end, foreign, next]) each.close();
  world.store.close();
});

test('a handle that was closed before a takeover is no other one when its closing is sent again', async () => {
  const folder = freshFolder();
  const notes = join(folder, 'journal');
  const journal = new JournalFile(notes, false);
  const world = new World(folder, journal);
  const tree = world.addTree('mine');
  const end = world.mount(tree);
  const { node, fh } = await create(end, 'note.md', 'a head');
  const closing = [u64(fh), Buffer.alloc(16)] as const;
  await ask(end, FLUSH, node, ...closing);
  await ask(end, RELEASE, node, ...closing);
  const open = async (by: KernelEnd, flags = 0) =>
    (await ask(by, OPEN, node, u32(flags), u32(0))).payload.readBigUInt64LE(0);
  const old = await open(end);
  await ask(end, RELEASE, node, u64(old), Buffer.alloc(16));
  // It was done; the answer never came to the kernel.
  const unanswered = unique;
  journal.flush(true);

  const next = new World(folder, new JournalFile(notes, true));
  const again = next.load({ id: tree.id, project: next.store.trees.get(tree.id)?.project ?? 0 });
  const successor = next.mount(again, end.view.mount);
  resume(again, [successor.view]);
  await open(successor);
  const fresh = await open(successor, O_RDWR);
  const resent = unanswered | (1n << 63n);
  expect((await send(successor, resent, RELEASE, node, u64(old), Buffer.alloc(16))).errno).toBe(0);
  expect((await write(successor, node, fresh, 'newer!')).errno).toBe(0);
  expect((await read(successor, node, fresh)).payload.toString()).toBe('newer!');
  for (const each of [end, successor]) each.close();
  for (const each of [world, next]) each.store.close();
});
