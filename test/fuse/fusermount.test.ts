import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { MendError } from '../../src/errors.js';
import { mountWithFusermount, unmountWithFusermount } from '../../src/fuse/fusermount.js';
import { loadNative } from '../../src/fuse/native.js';
import { leftoverMounts, withDeadline } from '../support/mounted.js';
import { programFolder } from '../support/program.js';
import { isRoot, throwAwayUser } from '../support/users.js';
import { MemoryOperations } from './memory-operations.js';
import { serve } from './served.js';

const native = loadNative();
const path = process.env['PATH'];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(inject('runFolder'), 'fusermount-'));
});

afterEach(() => {
  process.env['PATH'] = path;
});

/** The sentence that a person gets. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(MendError);
  return (error as MendError).message;
}

test('a missing fusermount3 is named, with its package', async () => {
  process.env['PATH'] = folder;
  expect(await refusal(mountWithFusermount(native, folder))).toMatch(
    /fusermount3 is not installed: install the package fuse3/,
  );
  expect(await refusal(unmountWithFusermount(folder, true))).toMatch(/fusermount3 is not installed/);
});

test('a mount point that is not there is refused in the words of fusermount3', async () => {
  const absent = join(folder, 'absent');
  const sentence = await refusal(mountWithFusermount(native, absent));
  expect(sentence).toMatch(/^cannot mount on .*absent: .*No such file or directory$/);
  expect(sentence).not.toMatch(/\n|fusermount3:/);
});

test('what is not mounted cannot be unmounted', async () => {
  for (const lazy of [false, true])
    expect(await refusal(unmountWithFusermount(folder, lazy))).toMatch(/^cannot unmount [^\n]+$/);
});

test.runIf(isRoot)('an ordinary user cannot mount over a folder of somebody else', async () => {
  const foreign = join(folder, 'of-root');
  mkdirSync(foreign, { mode: 0o755 });
  chmodSync(folder, 0o755);
  const user = throwAwayUser();
  const from = (file: string): string => JSON.stringify(pathToFileURL(join(programFolder(), 'dist', file)).href);
  const script = join(folder, 'mount.mjs');
  writeFileSync(
    script,
    `import { mountWithFusermount } from ${from('fuse/fusermount.js')};
     import { loadNative } from ${from('fuse/native.js')};
     await mountWithFusermount(loadNative(), process.argv[2]).catch((error) => console.log(error.name, error.message));`,
    { mode: 0o644 },
  );
  const { stdout, stderr } = await user.run([process.execPath, script, foreign]);
  await user.remove();
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^MendError cannot mount on .*of-root: .*(no write access|not owned)/);
  expect(leftoverMounts(foreign)).toEqual([]);
});

test('a mount in use comes off only lazily', async () => {
  const mount = await serve(new MemoryOperations({ a: 'text' }));
  try {
    await withDeadline(45, [mount.point], async () => {
      const reader = spawn('sh', ['-c', 'exec 3<"$0/a"; echo open; read line; cat <&3', mount.point], {
        cwd: '/',
        stdio: 'pipe',
      });
      let output = '';
      reader.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      while (!output.includes('open\n')) await once(reader.stdout, 'data');
      expect(await refusal(unmountWithFusermount(mount.point, false))).toMatch(/busy/i);
      expect(leftoverMounts(mount.point)).toEqual([mount.point]);
      await unmountWithFusermount(mount.point, true);
      expect(leftoverMounts(mount.point)).toEqual([]);
      reader.stdin.end('\n');
      await once(reader, 'close');
      expect(output).toBe('open\ntext');
      await mount.ended;
    });
  } finally {
    await mount.end();
  }
});

test('mounting and unmounting many times loses no descriptor', async () => {
  for (let round = 0; round < 20; round++) {
    const fd = await mountWithFusermount(native, folder);
    expect(fd).toBeGreaterThan(2);
    expect(native.closeDescriptor(fd)).toBe(0);
    await unmountWithFusermount(folder, true);
  }
});
