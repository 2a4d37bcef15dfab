import { run } from '../lib/exec.mjs';
import { copySeed, makeFolder, needProgram, servedSubject } from './subject.mjs';

/**
 * bindfs over an ordinary folder, with its defaults: a thin layer in C on libfuse.
 * @param {import('./subject.mjs').Context} context
 * @returns {Promise<import('./subject.mjs').Subject>}
 */
export async function bindfs(context) {
  const command = await needProgram(context, 'bindfs', 'bindfs');
  const version = (await run(command, ['--version'])).trim().replace(/^bindfs /, '');
  const backing = makeFolder(context, 'bindfs', 'backing');
  const mountPoint = makeFolder(context, 'bindfs', 'mount');
  await copySeed(context, backing);
  const args = ['-f', '--no-allow-other', backing, mountPoint];
  return servedSubject(context, { name: 'bindfs', version, mountPoint, command, args });
}
