import type { Channel } from '../fuse/channel.js';
import type { Agreement } from '../fuse/init.js';
import { incrementEpoch, invalidateAttributes, invalidateEntry } from '../fuse/notifications.js';
import { log } from '../log.js';
import type { KernelCache } from '../tree/kernel-cache.js';
import type { TreeNode } from '../tree/node.js';
import type { Announcement } from '../tree/tree.js';
import type { View } from '../tree/view.js';

const ENOENT = 2;
const EPOCH = incrementEpoch();
/** Longest that a change waits for an old kernel, in ms: two mounts that rename at once may wait for each other. */
const PATIENCE = 1000;

/** The kernel's cache of one mount, reached through its channel's notifications. */
export class ChannelCache implements KernelCache {
  channel: Channel | undefined;
  /** Undefined until the kernel has said hello; it has nothing cached before. */
  connection: Agreement | undefined;
  readonly #root: number;
  #telling = 0;

  constructor(root: number) {
    this.#root = root;
  }

  /** True while the kernel has not taken everything that it is to be told. */
  get isTelling(): boolean {
    return this.#telling > 0;
  }

  /**
   * Has the kernel forget every attribute that it knows of a mount.
   * @param withNames the names as well. A program that has a file open then sees it as deleted in proc_pid_fd(5), and
   *   Claude Code refuses to read what is replaced between its check and its look there.
   */
  forgetAll(view: View, withNames: boolean): Promise<void> {
    const nodes = [...view.tree.nodes.values(), ...view.locals];
    const named = withNames ? nodes : [];
    const names = named.flatMap((node) => (node.parent ? [{ parent: node.parent, name: node.name }] : []));
    return this.forget({ attributes: nodes, names });
  }

  async forget(news: Announcement): Promise<void> {
    const { channel, connection } = this;
    if (!channel || !connection) return;
    this.#telling++;
    try {
      await this.#send(channel, connection, news);
    } finally {
      this.#telling--;
    }
  }

  async #send(channel: Channel, connection: Agreement, { attributes, names }: Announcement): Promise<void> {
    const id = (node: TreeNode) => (node.id === this.#root ? 1 : node.id);
    const sent: Promise<number>[] = [];
    for (const node of attributes) {
      if (node.lookups > 0 || node.id === this.#root) sent.push(channel.notify(invalidateAttributes(id(node))));
    }
    if (names.length > 0 && connection.epoch) sent.push(channel.notify(EPOCH));
    else for (const { parent, name } of names) sent.push(channel.notify(invalidateEntry(id(parent), name)));
    const all = Promise.all(sent);
    const results = connection.epoch ? await all : await Promise.race([all, later(PATIENCE)]);
    // The kernel answers ENOENT for what it has not cached, and ends every wait when it unmounts.
    const failed = results.find((code) => code < 0 && code !== -ENOENT);
    if (failed !== undefined) log('debug', 'kernel did not take a notification', { errno: -failed });
  }
}

function later(ms: number): Promise<number[]> {
  return new Promise((resolve) => setTimeout(() => resolve([]), ms).unref());
}
