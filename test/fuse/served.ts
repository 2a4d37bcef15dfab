import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { Channel } from '../../src/fuse/channel.js';
import { mountWithFusermount } from '../../src/fuse/fusermount.js';
import type { Connection } from '../../src/fuse/init.js';
import { loadNative } from '../../src/fuse/native.js';
import type { Operations } from '../../src/fuse/operations.js';
import { freeMounts } from '../support/mounted.js';
import { currentUser, type TestUser } from '../support/users.js';

/** A mount that this process serves. Only other processes may touch it: this one would wait for itself. */
export interface Served {
  readonly point: string;
  readonly channel: Channel;
  readonly connection: Connection;
  /** Runs programs that use the mount. */
  readonly user: TestUser;
  /** Resolves when the kernel ended the connection. */
  readonly ended: Promise<void>;
  /** Runs a shell command with the mount as `$M`; its output without the last newline, or `status: message`. */
  shell(command: string): Promise<string>;
  /** Ends whatever still uses the mount, and takes it off. */
  end(): Promise<void>;
}

/** Mounts operations over a fresh folder and serves them from this thread. */
export async function serve(operations: Operations): Promise<Served> {
  const native = loadNative();
  const point = mkdtempSync(join(inject('runFolder'), 'served-'));
  const fd = await mountWithFusermount(native, point);
  let isEnded = (): void => {};
  const ended = new Promise<void>((resolve) => {
    isEnded = resolve;
  });
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  let channel: Channel | undefined;
  const connection = await new Promise<Connection>((ready) => {
    channel = new Channel(native, fd, owner, operations, {
      ready,
      ended: isEnded,
      called: () => {},
      answering: () => {},
    });
  });
  if (!channel) throw new Error('no channel');
  const own = channel;
  const user = currentUser();
  return {
    ...{ point, channel: own, connection, user, ended },
    async shell(command) {
      const { code, stdout, stderr } = await user.run(['sh', '-c', command], {
        env: { M: point, LC_ALL: 'C' },
        timeout: 30,
      });
      return code === 0 ? stdout.trimEnd() : `${code}: ${stderr.trim()}`;
    },
    async end() {
      freeMounts(point);
      own.close();
      await user.remove();
    },
  };
}
