import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { filesWith } from '../cli/store-files.js';
import { begin, end, program } from './agent-work.js';
import { type Stage, staged } from './stage.js';

const SECRET = 'xyzzy-plugh-4711';
/** Longer than the daemon's background work waits, in ms. */
const A_WHILE = 1500;

const inStore = (stage: Stage, text = SECRET): string[] => filesWith(stage.store, text);
const purge = (stage: Stage, file: string, status = 0, ...args: string[]) =>
  stage.mend(['memory', 'purge', file, '--confirm', file, ...args], { status });

test(
  'a file that lay in the folder is gone from mount, store and folder, and does not come back',
  staged(60, async (stage) => {
    const path = `${stage.folder()}/note.md`;
    await stage.sh('mkdir -p "$1"; printf %s "$2" >"$1/note.md"; echo other >"$1/other.md"', stage.folder(), SECRET);
    const folder = await stage.mount();
    await stage.sh('echo more >>"$1/note.md"; echo "$2 again" >"$1/note.md"', folder, SECRET);
    expect(inStore(stage)).not.toEqual([]);
    const { stdout, stderr } = await purge(stage, 'note.md');
    expect(stdout).toBe(
      `purged note.md with 3 versions\nthe plain file under the mount ${folder} goes with "mend unmount"\n`,
    );
    expect(stderr).toBe('');
    expect(await stage.sh('ls -A "$1"; test ! -e "$1/note.md"', folder)).toBe('other.md\n');
    expect(inStore(stage)).toEqual([]);
    await delay(A_WHILE);
    expect(inStore(stage)).toEqual([]);
    await stage.mend(['unmount']);
    expect(existsSync(path)).toBe(false);
    expect(await stage.sh('cat "$1/other.md"', folder)).toBe('other\n');
    await stage.mount();
    expect(await stage.sh('ls -A "$1"', folder)).toBe('other.md\n');
    expect(await stage.log('note.md')).toEqual([]);
    await stage.mend(['unmount']);
    expect(inStore(stage)).toEqual([]);
  }),
  100_000,
);

test(
  'the mount ends without write-back: the plain file that is left is not taken in again, and goes at the next unmount',
  staged(60, async (stage) => {
    await stage.sh('mkdir -p "$1"; printf %s "$2" >"$1/note.md"', stage.folder(), SECRET);
    const folder = await stage.mount();
    await purge(stage, 'note.md');
    await stage.endDaemon('SIGKILL');
    await stage.user.run(['fusermount3', '-uz', folder]);
    expect(await stage.sh('cat "$1/note.md"', folder)).toBe(SECRET);
    await stage.mount();
    expect(await stage.sh('ls -A "$1"', folder)).toBe('');
    expect(inStore(stage)).toEqual([]);
    // Somebody who saves the same bytes anew has them again, under their own history.
    await stage.sh('printf %s "$2" >"$1/note.md"; printf %s "$2" >"$1/b.md"', folder, SECRET);
    expect(await stage.sh('cat "$1/note.md" "$1/b.md"', folder)).toBe(SECRET + SECRET);
    expect(await stage.kinds('note.md')).toEqual(['saved']);
    await stage.sh('rm "$1/note.md" "$1/b.md"', folder);
    await purge(stage, 'b.md', 3);
    await purge(stage, 'note.md');
    expect(inStore(stage)).toEqual([]);
    await stage.mend(['unmount']);
    expect(existsSync(`${folder}/note.md`)).toBe(false);
  }),
  100_000,
);

test(
  'an open file does not bring the bytes back: reading it fails, and what its session saves anew is a new file',
  staged(60, async (stage) => {
    const folder = await stage.mount();
    const path = `${folder}/note.md`;
    const [reader, other] = [await stage.agent(), await stage.agent()];
    await program(other, `printf '${SECRET}' >"$1"`, path);
    await reader.run((fs, own, file) => {
      own['fd'] = fs.openSync(file, 'r');
    }, path);
    await purge(stage, 'note.md');
    const failure = await reader.run((fs, own) => {
      try {
        return fs.readFileSync(own['fd'] ?? -1, 'utf8');
      } catch (error) {
        return (error as { code?: string }).code;
      }
    });
    expect(failure).toBe('EIO');
    await end(reader);
    await delay(A_WHILE);
    expect(inStore(stage)).toEqual([]);
    await program(reader, 'echo anew >"$1"', path);
    expect(await program(other, 'cat "$1"', path)).toBe('anew\n');
    expect(await stage.kinds('note.md')).toEqual(['saved']);
    await program(other, 'echo more >>"$1"', path);
    expect(await program(reader, 'cat "$1"', path)).toBe('anew\nmore\n');
    expect(inStore(stage)).toEqual([]);
  }),
  100_000,
);

test(
  'a file that is being written is refused; what a daemon that died left of it goes with it',
  staged(60, async (stage) => {
    const folder = await stage.mount();
    const path = `${folder}/note.md`;
    await stage.sh('echo first >"$1"', path);
    const agent = await stage.agent();
    await begin(agent, path, SECRET);
    const { stderr } = await purge(stage, 'note.md', 1);
    expect(stderr).toMatch(/^mend: note\.md has writes that are not saved yet and would bring it back: [^\n]+\n$/);
    expect(await stage.kinds('note.md')).toEqual(['saved']);
    await begin(agent, `${folder}/b.md`, `${SECRET} b`);
    await stage.endDaemon('SIGKILL');
    expect(inStore(stage)).not.toEqual([]);
    await purge(stage, 'note.md');
    expect(inStore(stage, `${SECRET} b`)).not.toEqual([]);
    await stage.user.run(['fusermount3', '-uz', folder]);
    await stage.mount();
    expect(await stage.log('note.md')).toEqual([]);
    expect(await stage.contents('b.md', 'interrupted')).toEqual([`${SECRET} b`]);
    await purge(stage, 'b.md');
    expect(inStore(stage)).toEqual([]);
  }),
  100_000,
);

test(
  'two mounts, and a purge while sessions save: both go on, and see the file no more',
  staged(90, async (stage) => {
    const home = join(stage.user.home, 'second');
    await stage.sh('mkdir "$1"', home);
    const folders = [await stage.mount(), await stage.mount({ home })];
    const agents = [await stage.agent(), await stage.agent()];
    await stage.sh('for i in $(seq 30); do echo "$2 $i" >"$1/note.md"; done', folders[0] ?? '', SECRET);
    const loops = agents.map((agent, i) =>
      program(agent, 'for i in $(seq 150); do echo "line $i" >>"$1"; done', `${folders[i]}/busy-${i}.md`),
    );
    await purge(stage, 'note.md');
    for (const folder of folders) expect(await stage.sh('ls "$1"', folder)).not.toContain('note.md');
    await Promise.all(loops);
    for (const [i, folder] of folders.entries())
      expect(await stage.sh(`wc -l <"$1/busy-${1 - i}.md"`, folder)).toBe('150\n');
    expect(inStore(stage)).toEqual([]);
    // The log is made ready for quick flushing again.
    expect(statSync(join(stage.store, 'store.db-wal')).size).toBeGreaterThan(8 * 1024 * 1024);
  }),
  120_000,
);
