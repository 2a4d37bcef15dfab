import type { Announcement } from './tree.js';

/** The kernel's cache of one mount. */
export interface KernelCache {
  /** Makes the kernel forget; resolves when it has. Never rejects: a kernel that is gone has forgotten. */
  forget(news: Announcement): Promise<void>;
}

/** How long, in seconds, the kernel may keep what it is told unless it hears otherwise: a day. */
export const KEEP = 86_400;
