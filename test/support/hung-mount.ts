import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';
import { currentUser } from './users.js';

/**
 * Puts a FUSE mount that never answers over a folder: `fusermount3` sends the descriptor of the connection into a
 * socket that nobody reads, so that the kernel waits for ever for the first reply. Returns what ends the connection.
 */
export async function hungMount(point: string): Promise<() => void> {
  const folder = mkdtempSync(join(inject('runFolder'), 'hung-'));
  const server = createServer({ pauseOnConnect: true });
  server.listen(join(folder, 'socket'));
  await once(server, 'listening');
  const client = connect(join(folder, 'socket'));
  const [[held]] = (await Promise.all([once(server, 'connection'), once(client, 'connect')])) as [[Socket], unknown[]];
  const user = currentUser();
  const mount = user.spawn(['fusermount3', '-o', 'fsname=hung', '--', point], {
    cwd: '/',
    env: { _FUSE_COMMFD: '3' },
    stdio: ['ignore', 'inherit', 'inherit', client],
  });
  const [code] = (await once(mount, 'exit')) as [number | null];
  await user.remove();
  client.destroy();
  const end = (): void => {
    held.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  };
  if (code === 0) return end;
  end();
  throw new Error(`fusermount3 ended with status ${code}`);
}
