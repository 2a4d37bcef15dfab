import type { Channel } from '../fuse/channel.js';
import { MINOR_EXPIRE_ONLY } from '../fuse/constants.js';
import type { Agreement } from '../fuse/init.js';
import {
  expireEntry,
  incrementEpoch,
  invalidateAttributes,
  invalidateEntry,
  invalidatePages,
} from '../fuse/notifications.js';
import { log } from '../log.js';
import type { KernelCache } from '../tree/kernel-cache.js';
import type { TreeNode } from '../tree/node.js';
import { aliasOf } from '../tree/sharing.js';
import type { Announcement, Names } from '../tree/tree.js';
import type { Outdating, View } from '../tree/view.js';
import { notifyApart } from './notify-apart.js';

const ENOENT = 2;
const EPOCH = incrementEpoch();
/** Longest that a change waits for an old kernel, in ms: two mounts that rename at once may wait for each other. */
const PATIENCE = 1000;
/** The same where all that a kernel remembers is to be asked for again. */
const PATIENCE_MOST = 10_000;
/** How long, in ms, a kernel may take to put an answer into its cache. */
const SETTLES = 20;

/** The kernel's cache of one mount, reached through its channel's notifications. */
export class ChannelCache implements KernelCache {
  channel: Channel | undefined;
  /** Undefined until the kernel has said hello; it has nothing cached before. */
  connection: Agreement | undefined;
  /** The kernel may know files by their second ids. */
  hasAliases = false;
  readonly #root: number;
  /** What the kernel's ids of nodes are above their own. */
  readonly #base: number;
  #telling = 0;

  constructor(root: number, base = 0) {
    this.#root = root;
    this.#base = base;
  }

  /** True while the kernel has not taken everything that it is to be told. */
  get isTelling(): boolean {
    return this.#telling > 0;
  }

  /**
   * Has the kernel forget every attribute that it knows of a mount, and names that it may know wrongly.
   * @param names undefined for all of them. A program that has a file open then sees it as deleted in proc_pid_fd(5), and
   *   Claude Code refuses to read what is replaced between its check and its look there.
   */
  takeOver(view: View, names: Names | undefined): Outdating {
    const nodes = [...view.tree.nodes.values(), ...view.locals];
    if (!names) {
      const all = nodes.flatMap((node) => (node.parent ? [{ parent: node.parent, name: node.name }] : []));
      const told = this.forget({ attributes: nodes, names: all });
      return { attributes: told, names: told };
    }
    return {
      attributes: this.forget({ attributes: nodes, names: [] }),
      names: this.#tell(async (channel, connection) => {
        const messages = names.map((place) => this.#expiry(connection, place));
        await sendApart(channel, messages, PATIENCE);
      }),
    };
  }

  async forget(news: Announcement): Promise<void> {
    await this.#tell((channel, connection) => this.#send(channel, connection, news));
  }

  /**
   * Has the kernel ask for every name, attribute and page of a mount that it remembers before it tells anybody of it. What
   * is open, and folders that programs work in, keep their names. What was answered just before may still be on its way
   * into the cache: so it is told twice.
   * @param gone names that are not there any more
   */
  async expireAll(view: View, gone: Names = []): Promise<void> {
    await this.#tell(async (channel, connection) => {
      await this.#expire(channel, connection, view, gone);
      await new Promise((resolve) => setTimeout(resolve, SETTLES));
      await this.#expire(channel, connection, view, gone);
    });
  }

  async #tell(work: (channel: Channel, connection: Agreement) => Promise<void>): Promise<void> {
    const { channel, connection } = this;
    if (!channel || !connection) return;
    this.#telling++;
    try {
      await work(channel, connection);
    } finally {
      this.#telling--;
    }
  }

  async #expire(channel: Channel, connection: Agreement, view: View, gone: Names): Promise<void> {
    const nodes = [...view.tree.nodes.values(), ...view.locals, ...view.tree.departed.values()];
    const messages = gone.map((place) => this.#expiry(connection, place));
    for (const node of nodes) {
      if (node.lookups === 0 && node.id !== this.#root) continue;
      for (const id of this.#idsOf(node))
        messages.push(node.kind === 'file' ? invalidatePages(id) : invalidateAttributes(id));
      if (node.parent) messages.push(this.#expiry(connection, { parent: node.parent, name: node.name }));
    }
    await sendApart(channel, messages, PATIENCE_MOST);
  }

  #expiry({ protocol }: Agreement, { parent, name }: Names[number]): Buffer {
    const canExpire = Number(protocol.split('.')[1]) >= MINOR_EXPIRE_ONLY;
    const [id = 1] = this.#idsOf(parent);
    return canExpire ? expireEntry(id, name) : invalidateEntry(id, name);
  }

  /** What the kernel may call a node: a file can have a second id. */
  #idsOf(node: TreeNode): number[] {
    if (node.id === this.#root) return [1];
    const id = node.id + this.#base;
    return node.kind === 'file' && this.hasAliases ? [id, aliasOf(id)] : [id];
  }

  async #send(channel: Channel, connection: Agreement, { attributes, names }: Announcement): Promise<void> {
    const sent: Promise<number>[] = [];
    for (const node of attributes) {
      if (node.lookups === 0 && node.id !== this.#root) continue;
      for (const id of this.#idsOf(node)) sent.push(channel.notify(invalidateAttributes(id)));
    }
    if (names.length > 0 && connection.epoch) sent.push(channel.notify(EPOCH));
    else
      for (const { parent, name } of names) {
        const [id = 1] = this.#idsOf(parent);
        sent.push(channel.notify(invalidateEntry(id, name)));
      }
    const all = Promise.all(sent);
    const results = connection.epoch ? await all : await Promise.race([all, later(PATIENCE)]);
    // The kernel answers ENOENT for what it has not cached, and ends every wait when it unmounts.
    const failed = results.find((code) => code < 0 && code !== -ENOENT);
    if (failed !== undefined) log('debug', 'kernel did not take a notification', { errno: -failed });
  }
}

/** Has the kernel take notifications that wait for what is under way in a folder; waits for `patience` ms at most. */
async function sendApart({ descriptor }: Channel, messages: readonly Buffer[], patience: number): Promise<void> {
  if (descriptor !== undefined) await Promise.race([notifyApart(descriptor, messages), later(patience)]);
}

function later(ms: number): Promise<number[]> {
  return new Promise((resolve) => setTimeout(() => resolve([]), ms).unref());
}
