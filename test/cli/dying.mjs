// Preloaded into a command: kills it at one of its calls on the store's files. DIE_AT counts them from 0.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

let left = Number(process.env.DIE_AT);
for (const name of ['openSync', 'closeSync', 'fsyncSync', 'linkSync', 'renameSync', 'rmSync', 'unlinkSync']) {
  const real = fs[name];
  fs[name] = (...args) => {
    const isOfStore = args.some((arg) => typeof arg === 'string' && arg.includes('store.db'));
    if ((isOfStore || typeof args[0] === 'number') && left-- === 0) process.kill(process.pid, 'SIGKILL');
    return real(...args);
  };
}
syncBuiltinESMExports();
