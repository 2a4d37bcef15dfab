import { expect, test } from 'vitest';
import { staged } from '../mounted/stage.js';
import { withStore } from '../mounted/with-store.js';

test(
  'a merged version is shown by its three sides; log says so, and marks what was kept aside',
  staged(60, async (stage) => {
    const folder = await stage.mount();
    await stage.sh(`printf 'a\\nb\\n' >"$1/note.md"; printf 'a\\nb\\nmeanwhile\\n' >"$1/note.md"`, folder);
    await withStore(stage, (store, files) => {
      const file = files.find('note.md');
      if (!file) throw new Error('no file');
      store.write(() => {
        const base = store.versions.of(file.row.tree, 'note.md').at(-1)?.content ?? null;
        const written = store.putContent(Buffer.from('start\na\nb\n'));
        const bytes = Buffer.from('start\na\nb\nmeanwhile\n');
        const session = store.sessionRow({ key: 'k', name: 'claude 7' });
        const row = { ...file.row, content: store.putContent(bytes), size: bytes.length };
        store.saveHead(row, 'note.md', 'merged', session, { base, written });
        const aside = { tree: file.row.tree, path: 'note.md', session };
        store.addVersion({ ...aside, content: store.putContent(Buffer.from('half')), kind: 'interrupted' });
        store.addVersion({ ...aside, content: store.putContent(Buffer.from('other')), kind: 'conflict' });
      });
    });
    const { stdout } = await stage.mend(['memory', 'diff', 'note.md', '3']);
    const withoutTimes = stdout.replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'TIME');
    expect(withoutTimes.split('\n')).toEqual([
      'note.md, version 3: merged TIME, claude 7',
      '',
      'saved meanwhile',
      '--- a/note.md\tversion 1 (saved TIME)',
      '+++ b/note.md\tversion 2 (saved TIME)',
      '@@ -1,2 +1,3 @@',
      ' a',
      ' b',
      '+meanwhile',
      '',
      'written by the session',
      '--- a/note.md\tversion 1 (saved TIME)',
      '+++ b/note.md\twhat the session wrote',
      '@@ -1,2 +1,3 @@',
      '+start',
      ' a',
      ' b',
      '',
      'the merge',
      '--- a/note.md\tversion 2 (saved TIME)',
      '+++ b/note.md\tversion 3 (merged TIME)',
      '@@ -1,3 +1,4 @@',
      '+start',
      ' a',
      ' b',
      ' meanwhile',
      '',
    ]);
    // The merge is the last change, too; two numbers compare versions as ever.
    expect((await stage.mend(['memory', 'diff', 'note.md'])).stdout).toBe(stdout);
    expect((await stage.mend(['memory', 'diff', 'note.md', '2', '3'])).stdout).toMatch(
      /\n\+start\n a\n b\n meanwhile\n$/,
    );
    const log = (await stage.mend(['memory', 'log', 'note.md'])).stdout.split('\n');
    expect(log[1]).toMatch(/^note\.md +5 {2}conflict .* {2}! could not be merged: kept aside$/);
    expect(log[2]).toMatch(/^note\.md +4 {2}interrupted .* {2}! cut short: never was what the file holds$/);
    expect(log[3]).toMatch(/^note\.md +3 {2}merged .* {2}"mend memory diff note\.md 3" shows the three sides$/);
    expect(log[4]).toMatch(/^note\.md +2 {2}saved .*\S$/);
    for (const row of await stage.json<Record<string, unknown>[]>(['memory', 'log', 'note.md'])) {
      expect(Object.keys(row)).toEqual(['file', 'version', 'kind', 'when', 'session', 'machine', 'bytes', 'sha256']);
    }
    const restored = await stage.mend(['memory', 'restore', 'note.md', '--version', '5']);
    expect(restored.stdout).toBe('restored version 5 of note.md\n');
    expect(await stage.sh('cat "$1/note.md"', folder)).toBe('other');
    // A side that is purged is not shown any more.
    await stage.mend(['memory', 'purge', 'note.md', '--version', '1', '--confirm', 'note.md']);
    expect((await stage.mend(['memory', 'diff', 'note.md', '3'])).stdout).not.toContain('written by the session');
  }),
  100_000,
);

test(
  'a merge without a base shows both sides whole',
  staged(60, async (stage) => {
    const folder = await stage.mount();
    await stage.sh(`printf 'theirs\\n' >"$1/note.md"`, folder);
    await withStore(stage, (store, files) => {
      const file = files.find('note.md');
      if (!file) throw new Error('no file');
      store.write(() => {
        const written = store.putContent(Buffer.from('ours\n'));
        const content = store.putContent(Buffer.from('theirs\nours\n'));
        store.saveHead({ ...file.row, content, size: 12 }, 'note.md', 'merged', 0, { base: null, written });
      });
    });
    const { stdout } = await stage.mend(['memory', 'diff', 'note.md']);
    expect(stdout).toMatch(/saved meanwhile\n--- \/dev\/null\n\+\+\+ b\/note\.md\tversion 1 .*\n@@.*\n\+theirs\n/);
    expect(stdout).toMatch(
      /written by the session\n--- \/dev\/null\n\+\+\+ .*\twhat the session wrote\n@@.*\n\+ours\n/,
    );
    expect(stdout).toMatch(/the merge\n--- .*version 1 .*\n\+\+\+ .*version 2 .*\n@@.*\n theirs\n\+ours\n$/);
  }),
  100_000,
);
