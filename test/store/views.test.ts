import { constants } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { procProcesses } from '../../src/daemon/processes.js';
import { ThreadedMerger } from '../../src/daemon/threaded-merger.js';
import { noJournal } from '../../src/ports/journal.js';
import { DEFAULT_LIMITS } from '../../src/ports/limits.js';
import { Knowledge } from '../../src/session/knowledge.js';
import { SessionFinder } from '../../src/session/session-finder.js';
import type { Store } from '../../src/store/store.js';
import type { EntryAnswer } from '../../src/tree/attributes.js';
import { leave } from '../../src/tree/leaving.js';
import type { FileNode } from '../../src/tree/node.js';
import { Quota } from '../../src/tree/quota.js';
import { Tree } from '../../src/tree/tree.js';
import { View } from '../../src/tree/view.js';
import { ViewOperations } from '../../src/tree/view-operations.js';
import { addTree, openStore } from './fresh-store.js';

// Two mounts of one tree over a real store, asked as their kernels ask. What no kernel does on demand is to take its
// time before it has forgotten something: here the second one does.
const O_RDWR = 2;
const KEEP = 86_400;
const S_IFREG = 0o100000;
const caller = { pid: process.pid, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
let store: Store;
let tree: Tree;
let one: View;
let two: View;
let first: ViewOperations;
let second: ViewOperations;
/** Lets the kernel of the second mount be done with all that it was told. */
let forgotten: () => void;

beforeEach(() => {
  store = openStore();
  const opened = store;
  const row = addTree(opened);
  const clock = () => opened.now;
  const services = {
    ...{ store: opened, journal: noJournal, clock, processes: procProcesses, knowledge: new Knowledge() },
    sessions: new SessionFinder(procProcesses, clock, 'boot', () => undefined),
    merger: new ThreadedMerger(),
    host: 'machine',
    tellPeers: () => undefined,
    hasPeers: () => false,
  };
  tree = new Tree(row.id, services, new Quota(DEFAULT_LIMITS, () => opened.trees.usage(row.project)));
  const waiting: (() => void)[] = [];
  forgotten = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  const names = { isLocal: (path: string) => path.endsWith('~'), temporaryFor: () => undefined };
  one = new View(tree, opened.newId(), '/one', { forget: () => Promise.resolve() }, names);
  two = new View(
    tree,
    opened.newId(),
    '/two',
    { forget: () => new Promise((resolve) => waiting.push(resolve)) },
    names,
  );
  [first, second] = [new ViewOperations(one), new ViewOperations(two)];
});

/** Rows of nodes that lie in no folder, once the background work is done. */
function orphans(): number {
  store.write(() => tree.tidy());
  const count = store.db
    .prepare<[], number>('SELECT count(*) FROM node WHERE parent IS NULL AND id NOT IN (SELECT root FROM tree)')
    .pluck();
  return count.get() ?? -1;
}

function entryOf(answer: unknown): EntryAnswer {
  expect(answer).toHaveProperty('node');
  return answer as EntryAnswer;
}

/** Makes a file through the first mount; its entry. */
async function make(name: string): Promise<EntryAnswer> {
  const answer = first.mknod(caller, 1, name, S_IFREG);
  forgotten();
  return entryOf(await answer);
}

const fhOf = (opened: unknown) => {
  const { fhHigh, fhLow } = opened as { fhHigh: number; fhLow: number };
  return { high: fhHigh, low: fhLow };
};

describe('an answer that waits until another kernel was told', () => {
  it.each(['mknod', 'mkdir', 'create'] as const)('%s says what is true then', async (how) => {
    const made =
      how === 'mknod'
        ? first.mknod(caller, 1, 'new', S_IFREG)
        : how === 'mkdir'
          ? first.mkdir(caller, 1, 'new')
          : first.create(caller, 1, 'new', O_RDWR);
    expect(made).toBeInstanceOf(Promise);
    const { node } = entryOf(second.lookup(caller, 1, 'new'));
    second.setattr(caller, node, { mtime: 1_000_000 });
    forgotten();
    const answer = await made;
    const entry = entryOf(typeof answer === 'object' && 'entry' in answer ? answer.entry : answer);
    expect(entry).toMatchObject({ node, entryValid: KEEP });
    if (how !== 'create') expect(entry.attr.mtime).toBe(1_000_000);
    expect(tree.nodes.get(node)?.lookups).toBe(2);
  });

  it.each(['mknod', 'create'] as const)(
    '%s of a file that is gone by then: the kernel may use it, not keep it',
    async (how) => {
      const made = how === 'mknod' ? first.mknod(caller, 1, 'new', S_IFREG) : first.create(caller, 1, 'new', O_RDWR);
      second.unlink(caller, 1, 'new');
      forgotten();
      const answer = await made;
      const entry = entryOf(typeof answer === 'object' && 'entry' in answer ? answer.entry : answer);
      expect(entry).toMatchObject({ entryValid: 0, attr: { nlink: 0 } });
      expect(first.getattr(caller, entry.node)).toMatchObject({ attr: { nlink: 0 } });
      first.forget(entry.node, 1);
      expect(one.node(entry.node)).toBeUndefined();
    },
  );
});

describe('rows of removed files', () => {
  it('go when no kernel has looked the file up', async () => {
    const { node } = await make('a.md');
    first.forget(node, 1);
    second.unlink(caller, 1, 'a.md');
    expect(orphans()).toBe(0);
  });

  it('stay while the file is open, when a kernel gives one lookup back that an earlier process may have counted', async () => {
    const { node } = await make('a.md');
    const file = tree.nodes.get(node) as FileNode;
    two.inherit([file]);
    const fh = fhOf(second.open(caller, node, 0));
    second.forget(node, 1);
    first.unlink(caller, 1, 'a.md');
    first.forget(node, 1);
    expect(two.node(node)).toBe(file);
    expect(second.read(caller, node, fh, 0, 10)).toMatchObject({ length: 0 });
    second.release(caller, node, fh);
    expect(orphans()).toBe(1);
    second.forget(node, 1);
    expect(orphans()).toBe(0);
  });

  it('stay, too, when that lookup is given back before the file is opened', async () => {
    const { node } = await make('a.md');
    const file = tree.nodes.get(node) as FileNode;
    two.settling.inherited = true;
    two.inherit([file]);
    second.forget(node, 1);
    const fh = fhOf(second.open(caller, node, 0));
    first.unlink(caller, 1, 'a.md');
    first.forget(node, 1);
    expect(second.read(caller, node, fh, 0, 10)).toMatchObject({ length: 0 });
    second.release(caller, node, fh);
    second.forget(node, 1);
    expect(orphans()).toBe(0);
  });

  it.each(['a.md', 'a.md~'])('go with the last mount whose kernel knows the file: %s', async (name) => {
    const { node } = await make(name);
    if (name === 'a.md') second.lookup(caller, 1, name);
    first.unlink(caller, 1, name);
    expect(orphans()).toBe(1);
    leave(one);
    if (name === 'a.md') {
      expect(orphans()).toBe(1);
      expect(two.node(node)).toBeDefined();
      leave(two);
    }
    expect(orphans()).toBe(0);
  });

  it('stay while the file is open or known, also when a listing made it known', async () => {
    const { node } = await make('a.md');
    first.forget(node, 1);
    expect(second.readdir(caller, 1, 0, true, () => true)).toBe(0);
    first.unlink(caller, 1, 'a.md');
    expect(orphans()).toBe(1);
    second.forget(node, 1);
    expect(orphans()).toBe(0);
  });

  it('a mount that ends gives back no more than its own lookups', async () => {
    const { node } = await make('a.md');
    for (let i = 0; i < 3; i++) second.lookup(caller, 1, 'a.md');
    expect(tree.nodes.get(node)?.lookups).toBe(4);
    leave(two);
    expect(tree.nodes.get(node)?.lookups).toBe(1);
  });

  it('a file that is renamed is not one of them', async () => {
    await make('a.md');
    await make('b.md');
    first.rename(caller, 1, 'a.md', 1, 'c.md', 0);
    first.rename(caller, 1, 'c.md', 1, 'a.md~', 0);
    first.rename(caller, 1, 'a.md~', 1, 'a.md', 0);
    first.rename(caller, 1, 'a.md', 1, 'b.md', 2);
    for (const name of ['a.md', 'b.md']) {
      const { node } = entryOf(first.lookup(caller, 1, name));
      first.forget(node, 100);
    }
    expect(orphans()).toBe(0);
    expect([...tree.root.children.keys()].sort()).toEqual(['a.md', 'b.md']);
    expect(store.loadNodes(tree.id, 0)).toHaveLength(3);
  });
});

describe('an open that truncates', () => {
  const O_TRUNC = constants.O_WRONLY | constants.O_TRUNC;
  let node: number;

  beforeEach(async () => {
    ({ node } = await make('a.md'));
    const fh = fhOf(first.open(caller, node, constants.O_WRONLY));
    first.write(caller, node, fh, 0, Buffer.from('text'), 0, false);
    first.flush(caller, node, fh);
    first.release(caller, node, fh);
    forgotten();
  });

  const text = () => {
    const { content } = tree.nodes.get(node) as FileNode;
    return content === null ? null : store.content(content).toString();
  };

  it('and that the kernel gives up, so that nobody closes it, changes nothing', () => {
    first.release(caller, node, fhOf(first.open(caller, node, O_TRUNC)));
    expect(text()).toBe('text');
    expect((tree.nodes.get(node) as FileNode).drafts).toBeUndefined();
    expect(store.drafts.owners()).toEqual([]);
  });

  it('and that is closed is a save', () => {
    const fh = fhOf(first.open(caller, node, O_TRUNC));
    first.flush(caller, node, fh);
    first.release(caller, node, fh);
    expect(text()).toBe('');
  });
});
