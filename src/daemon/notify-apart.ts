import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeError, log } from '../log.js';

const NOTIFIER = fileURLToPath(new URL('./notifier.js', import.meta.url));

/**
 * Gives a kernel notifications that wait for operations under way, from a process of its own; resolves when it has taken
 * them, and never rejects. A thread that waits in the kernel would keep this process from ending when it is killed, and what
 * it waits for may be an answer of this process's successor.
 * @param descriptor of the mount
 */
export function notifyApart(descriptor: number, messages: readonly Buffer[]): Promise<void> {
  if (messages.length === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [NOTIFIER], {
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore', descriptor],
    });
    child.on('error', (error) => {
      log('warn', 'the kernel was not told of names', { error: describeError(error) });
      resolve();
    });
    child.on('exit', (code) => {
      if (code !== 0) log('debug', 'kernel did not take a notification', { code: code ?? 'killed' });
      resolve();
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(Buffer.concat(messages));
    child.unref();
  });
}
