import { run } from '../lib/exec.mjs';
import { copySeed, makeFolder, needProgram, servedSubject } from './subject.mjs';

/**
 * gocryptfs with its defaults: an encrypting FUSE daemon in Go that stores on the same disk.
 * @param {import('./subject.mjs').Context} context
 * @returns {Promise<import('./subject.mjs').Subject>}
 */
export async function gocryptfs(context) {
  const command = await needProgram(context, 'gocryptfs', 'gocryptfs');
  const version =
    (await run(command, ['-version']))
      .split(';')[0]
      ?.trim()
      .replace(/^gocryptfs /, '') ?? '';
  const cipher = makeFolder(context, 'gocryptfs', 'cipher');
  const mountPoint = makeFolder(context, 'gocryptfs', 'mount');
  // The cheapest key derivation: it is paid once at the mount, which is not measured.
  const password = ['-q', '-extpass', 'echo benchmark'];
  await run(command, ['-init', '-scryptn', '10', ...password, cipher], { as: context.as, signal: context.signal });
  const args = ['-fg', ...password, cipher, mountPoint];
  const subject = servedSubject(context, { name: 'gocryptfs', version, mountPoint, command, args });
  await subject.start();
  try {
    await copySeed(context, mountPoint);
  } finally {
    await subject.stop();
  }
  return subject;
}
