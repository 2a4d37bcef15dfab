import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { programFolder } from '../support/program.js';

test('a server whose supervisor is gone before it has loaded ends', async () => {
  const child = spawn(process.execPath, [join(programFolder(), 'dist/daemon/serve.js')], {
    cwd: '/',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'],
  });
  child.disconnect();
  expect(await once(child, 'exit')).toEqual([0, null]);
});
