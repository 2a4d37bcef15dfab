import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { unmountWithFusermount } from '../../src/fuse/fusermount.js';
import { incrementEpoch, invalidateAttributes, invalidateEntry } from '../../src/fuse/notifications.js';
import type { Answer } from '../../src/fuse/operations.js';
import type { EntryReply } from '../../src/fuse/reply.js';
import type { Caller } from '../../src/fuse/request.js';
import type { WireName } from '../../src/fuse/wire-reader.js';
import { canAbort, leftoverMounts, withDeadline } from '../support/mounted.js';
import { MemoryOperations } from './memory-operations.js';
import { type Served, serve } from './served.js';

const { errno } = constants;
const SECONDS = 45;

/** `mkdir` answers when it is told to. */
class SlowFolders extends MemoryOperations {
  asked: () => void = () => {};
  answer: Promise<void> = Promise.resolve();

  override mkdir(caller: Caller, parent: number, name: WireName): Answer<EntryReply> {
    this.asked();
    return this.answer.then(() => super.mkdir(caller, parent, name));
  }
}

let operations: SlowFolders;
let mount: Served;

beforeEach(async () => {
  operations = new SlowFolders({ 'MEMORY.md': 'hello\n', 'b.md': 'b\n' });
  mount = await serve(operations);
});

afterEach(() => mount.end());

test('agrees with this kernel on a protocol', () => {
  expect(mount.connection.protocol).toMatch(/^7\.\d+$/);
  expect(mount.connection.minor).toBeGreaterThanOrEqual(28);
});

test('files are read, written, listed and removed through the kernel', () =>
  withDeadline(SECONDS, [mount.point], async () => {
    expect(await mount.shell('cat "$M/MEMORY.md"; stat -c "%s %a %F" "$M/b.md"; ls -a "$M"')).toBe(
      'hello\n2 600 regular file\n.\n..\nMEMORY.md\nb.md',
    );
    expect(operations.lastCaller?.uid).toBe(process.getuid?.());
    expect(
      await mount.shell(
        'printf 0123456789 > "$M/new"; printf ab | dd of="$M/new" bs=1 seek=4 conv=notrunc,fsync 2>/dev/null; cat "$M/new"',
      ),
    ).toBe('0123ab6789');
    expect(
      await mount.shell('truncate -s 3 "$M/new" && mv "$M/new" "$M/b.md" && cat "$M/b.md" && rm "$M/b.md" && ls "$M"'),
    ).toBe('012MEMORY.md');
    expect(await mount.shell('touch -d @-1.5 "$M/MEMORY.md" && stat -c "%.6Y" "$M/MEMORY.md"')).toBe('-1.500000');
    expect(operations.lastChange?.mtime).toBe(-1_500_000);
    expect(await mount.shell('cat "$M/none"')).toMatch(/^1: .*No such file/);
    expect(await mount.shell('ln -s x "$M/link"')).toMatch(/^1: .*not permitted/);
  }));

test('a large file goes through in both directions', () =>
  withDeadline(SECONDS, [mount.point], async () => {
    const large = Buffer.alloc(3 * 1024 * 1024 + 17, 'mend');
    const source = join(mount.user.home, 'large');
    writeFileSync(source, large);
    expect(await mount.shell(`cp "${source}" "$M/large" && cmp "${source}" "$M/large" && echo same`)).toBe('same');
    expect(operations.child(1, 'large')?.bytes.equals(large)).toBe(true);
  }));

test('a failed operation is the error of the one call, not of the mount', () =>
  withDeadline(SECONDS, [mount.point], async () => {
    operations.failure = new TypeError('a fault');
    expect(await mount.shell('cat "$M/MEMORY.md"')).toMatch(/^1: .*Input\/output error/);
    expect(await mount.shell('cat "$M/MEMORY.md"')).toBe('hello');
  }));

test('a notification drops cached attributes', () =>
  withDeadline(SECONDS, [mount.point], async () => {
    operations.validity = 3600;
    const node = operations.child(1, 'MEMORY.md');
    if (!node) throw new Error('no node');
    expect(await mount.shell('stat -c %s "$M/MEMORY.md"')).toBe('6');
    node.bytes = Buffer.from('longer than before');
    expect(await mount.shell('stat -c %s "$M/MEMORY.md"'), 'the kernel caches').toBe('6');
    expect(await mount.channel.notify(invalidateAttributes(node.id))).toBe(0);
    expect(await mount.shell('stat -c %s "$M/MEMORY.md"')).toBe('18');
    expect(await mount.channel.notify(invalidateAttributes(999))).toBe(-errno.ENOENT);
    expect(await mount.channel.notify(Buffer.alloc(16))).toBe(-errno.EINVAL);
  }));

test.each(['one name', 'every name'])('a notification drops %s', (which) =>
  withDeadline(SECONDS, [mount.point], async () => {
    operations.validity = 3600;
    expect(await mount.shell('stat -c %s "$M/MEMORY.md"')).toBe('6');
    operations.rename({ pid: 0, uid: 0, gid: 0, unique: 0, resent: false }, 1, 'MEMORY.md', 1, 'moved', 0);
    expect(await mount.shell('stat -c %s "$M/MEMORY.md"'), 'the kernel caches').toBe('6');
    const message =
      which === 'one name' || !mount.connection.epoch ? invalidateEntry(1, 'MEMORY.md') : incrementEpoch();
    expect(await mount.channel.notify(message)).toBe(0);
    expect(await mount.shell('stat "$M/MEMORY.md"')).toMatch(/^1: .*No such file/);
    expect(await mount.shell('cat "$M/moved"')).toBe('hello');
  }),
);

test('an unmount ends the channel once, and a notification after it fails', () =>
  withDeadline(SECONDS, [mount.point], async () => {
    await unmountWithFusermount(mount.point, false);
    await mount.ended;
    expect(leftoverMounts(mount.point)).toEqual([]);
    expect(await mount.channel.notify(incrementEpoch())).toBe(-errno.ENOTCONN);
    mount.channel.close();
  }));

test('closing with requests waiting fails them, and their late answers go nowhere', () =>
  withDeadline(SECONDS, [mount.point], async () => {
    let answer = (): void => {};
    operations.answer = new Promise((resolve) => {
      answer = resolve;
    });
    const asked = new Promise<void>((resolve) => {
      operations.asked = resolve;
    });
    const folders = mount.shell('mkdir "$M/d"');
    await asked;
    mount.channel.close();
    expect(await folders).toMatch(/^1: .*(not connected|aborted|abort)/i);
    // The files opened now get the numbers of the descriptors that were closed.
    const file = join(inject('runFolder'), 'late-answers');
    const opened = Array.from({ length: 16 }, () => openSync(file, 'w'));
    answer();
    await delay(50);
    expect(opened.map((fd) => fstatSync(fd).size)).toEqual(opened.map(() => 0));
    opened.forEach(closeSync);
  }));

test.runIf(canAbort())('closing ends a notification that the kernel holds back, and those behind it', () =>
  withDeadline(SECONDS, [mount.point], async () => {
    let answer = (): void => {};
    operations.answer = new Promise((resolve) => {
      answer = resolve;
    });
    const asked = new Promise<void>((resolve) => {
      operations.asked = resolve;
    });
    operations.validity = 3600;
    expect(await mount.shell('stat -c %s "$M/MEMORY.md"')).toBe('6');
    const folders = mount.shell('mkdir "$M/d"');
    await asked;
    // The waiting mkdir holds the lock of the folder that the first notification needs.
    const sent = [invalidateEntry(1, 'MEMORY.md'), invalidateEntry(1, 'b.md'), invalidateAttributes(1)].map((message) =>
      mount.channel.notify(message),
    );
    expect(await Promise.race([Promise.any(sent), delay(200, 'held back')])).toBe('held back');
    mount.channel.close();
    expect(await Promise.all(sent)).toEqual([-errno.ECANCELED, -errno.ECANCELED, -errno.ECANCELED]);
    await mount.end();
    expect(await folders).toMatch(/^1: /);
    answer();
  }),
);
