import { rmSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { refuseFolder } from './own-file.js';
import { type RuntimeFiles, shortPath } from './runtime-files.js';

/**
 * Has a server listen on the control socket, in the place of one that a dead daemon left; resolves when it does.
 * @throws {MendError} when a folder is in its place
 */
export async function listen(server: Server, files: RuntimeFiles): Promise<void> {
  const path = join(files.folder, files.socket);
  refuseFolder(path);
  rmSync(path, { force: true });
  const short = shortPath(files.folder, files.socket);
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject);
    server.listen(short.path, () => resolve());
  });
  // The descriptor stays open: the server removes its socket through this path when it closes.
}
