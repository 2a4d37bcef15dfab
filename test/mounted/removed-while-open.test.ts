import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { isRoot } from '../support/users.js';
import type { Agent } from './agent.js';
import { type Stage, staged, until } from './stage.js';
import { twice } from './two-namespaces.js';
import { withStore } from './with-store.js';

const NOTE = 'note.md';
const DEEP = 'sub/deep/note.md';

/** Opens both notes; the one in the sub-folder has unsaved bytes already. */
const openBoth = (agent: Agent, folder: string) =>
  agent.run((fs, own, dir) => {
    own['note'] = fs.openSync(`${dir}/note.md`, 'r+');
    own['deep'] = fs.openSync(`${dir}/sub/deep/note.md`, 'r+');
    fs.writeSync(own['deep'], 'deep ');
  }, folder);

/** Saves both notes through what is open. */
const saveBoth = (agent: Agent) =>
  agent.run((fs, own) => {
    fs.writeSync(own['note'] ?? -1, 'note saved again\n');
    fs.writeSync(own['deep'] ?? -1, 'saved again\n');
    fs.closeSync(own['note'] ?? -1);
    fs.closeSync(own['deep'] ?? -1);
  });

/** What is there of the notes and their folder, by path and by listing. */
function look(stage: Stage, folder: string): Promise<string> {
  const script = `cd "$1"
    for f in note.md sub sub/deep sub/deep/note.md; do if test -e $f; then echo "$f is there"; fi; done
    find . -type f | sort; for f in note.md sub/deep/note.md; do if test -e $f; then stat -c %s $f; cat $f; fi; done`;
  return stage.sh(script, folder);
}

const back = `note.md is there
sub is there
sub/deep is there
sub/deep/note.md is there
./note.md
./sub/deep/note.md
17
note saved again
17
deep saved again
`;

/** What counts, in the listing, the history, the quota and statfs, once both notes are back. */
async function expectCounted(stage: Stage, folders: readonly string[]): Promise<void> {
  const listed = await stage.json<{ file: string; bytes: number }[]>(['memory']);
  expect(listed.map(({ file, bytes }) => [file, bytes])).toEqual([
    [NOTE, 17],
    [DEEP, 17],
  ]);
  for (const file of [NOTE, DEEP]) expect(await stage.kinds(file)).toEqual(['saved', 'removed', 'saved']);
  for (const mount of (await stage.status()).mounts) expect(mount).toMatchObject({ files: 2, bytes: 34 });
  for (const folder of folders) {
    const [blocks, free, files, ffree] = (await stage.sh('stat -f -c "%b %a %c %d" "$1"', folder))
      .split(' ')
      .map(Number);
    expect([(blocks ?? 0) - (free ?? 0), (files ?? 0) - (ffree ?? 0)]).toEqual([1, 2]);
  }
}

const prepare = (stage: Stage, folder: string) =>
  stage.sh('cd "$1"; mkdir -p sub/deep; echo note >note.md; echo deep >sub/deep/note.md', folder);

test(
  'a file that a command removes while a session has it open is back for everybody once that session saves it',
  staged(50, async (stage) => {
    const home = join(stage.user.home, 'second');
    await stage.sh('mkdir "$1"', home);
    const folders = [await stage.mount(), await stage.mount({ home })] as const;
    const [folder, other] = folders;
    await prepare(stage, folder);
    const agent = await stage.agent();
    await openBoth(agent, folder);
    await stage.mend(['memory', 'rm', NOTE, DEEP]);
    await stage.sh('cd "$1"; rmdir sub/deep sub', other);
    // Both kernels learn, and may remember, that the names are gone.
    for (const each of folders) expect(await look(stage, each)).toBe('');
    await saveBoth(agent);
    for (const each of folders) expect(await look(stage, each)).toBe(back);
    await expectCounted(stage, folders);
  }),
  80_000,
);

test(
  'a file that is saved while its removal is under way is there afterwards, and counted once',
  staged(50, async (stage) => {
    const folder = await stage.mount();
    const held = join(stage.user.home, 'held');
    await stage.sh('echo one >"$1/note.md"', folder);
    const agent = await stage.agent();
    await agent.run((fs, own, path) => {
      own['fd'] = fs.openSync(path, 'r+');
      fs.writeSync(own['fd'], Buffer.alloc(100_000, 'x'));
    }, `${folder}/${NOTE}`);
    const removed = withStore(
      stage,
      (store, files, file, signal) => {
        const found = files.find(file ?? '');
        if (!found) throw new Error('there is no such file');
        store.write(() => {
          files.remove(found, 0);
          process.getBuiltinModule('node:fs').writeFileSync(signal ?? '', '');
          // The daemon cannot commit before this ends.
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
        });
      },
      NOTE,
      held,
    );
    await until(() => existsSync(held), 'the removal to be under way');
    const waited = await agent.run((fs, own) => {
      const start = performance.now();
      fs.closeSync(own['fd'] ?? -1);
      return performance.now() - start;
    });
    expect(waited, 'the save waited for the removal').toBeGreaterThan(100);
    await removed;
    expect(await stage.sh('ls -A "$1"; stat -c %s "$1/note.md"', folder)).toBe('note.md\n100000\n');
    expect(await stage.kinds(NOTE)).toEqual(['saved', 'removed', 'saved']);
    expect((await stage.status()).mounts).toMatchObject([{ files: 1, bytes: 100_000 }]);
    const [blocks, free, files, ffree] = (await stage.sh('stat -f -c "%b %a %c %d" "$1"', folder))
      .split(' ')
      .map(Number);
    expect([(blocks ?? 0) - (free ?? 0), (files ?? 0) - (ffree ?? 0)]).toEqual([25, 1]);
  }),
  80_000,
);

describe.runIf(isRoot)('with two daemons (only root can make mount namespaces)', () => {
  test.each([
    ['a command', ['memory', 'rm', NOTE, DEEP], 'rmdir "$1/sub/deep" "$1/sub"'],
    ['programs', undefined, 'rm -r "$1/note.md" "$1/sub"'],
  ] as const)(
    'a file that %s of the other namespace removed is back in both once a session here saves it',
    (_, command, script) =>
      twice(60, async (here, there) => {
        const folder = await here.mount();
        await there.mount();
        await prepare(here, folder);
        const agent = await here.agent();
        await openBoth(agent, folder);
        if (command) await there.mend(command);
        await there.sh(script, folder);
        for (const stage of [here, there]) expect(await look(stage, folder)).toBe('');
        // Longer than background work waits that drops what nobody needs.
        await delay(1200);
        await saveBoth(agent);
        for (const stage of [here, there]) expect(await look(stage, folder)).toBe(back);
        for (const stage of [here, there]) await expectCounted(stage, [folder]);
      })(),
    90_000,
  );
});
