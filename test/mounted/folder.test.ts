import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { leftoverMounts } from '../support/mounted.js';
import { contentsOf } from './folder-contents.js';
import { type Stage, staged, until } from './stage.js';

/** A second home of the user, whose mount shows the same tree. */
async function secondHome(stage: Stage): Promise<string> {
  const home = join(stage.user.home, 'second');
  await stage.sh('mkdir -p "$1"', home);
  return home;
}

describe('unmounting', () => {
  test(
    'writes the heads back: atomically, modes kept, with what was removed gone and nothing else touched',
    staged(40, async (stage) => {
      const folder = stage.folder();
      const script = `mkdir -p "$1/sub"; cd "$1"; echo old >changed.md; chmod 640 changed.md; echo same >same.md; chmod 444 same.md
        echo gone >gone.md; echo gone >sub/gone.md; echo moved >moved.md; echo swap >.x.swp`;
      await stage.sh(script, folder);
      const agent = await stage.agent();
      await agent.run((fs, own, dir) => {
        own['changed'] = fs.openSync(`${dir}/changed.md`, 'r');
        own['same'] = fs.statSync(`${dir}/same.md`).ino;
      }, folder);
      await stage.mount();
      const change = `cd "$1"; echo new >changed.md; rm gone.md sub/gone.md; mkdir -p fresh/deep; echo new >fresh/deep/new.md
        mv moved.md sub/moved.md; echo temporary >left.md.tmp.1.0123456789ab`;
      await stage.sh(change, folder);
      const time = await stage.sh('stat -c %Y "$1/changed.md"', folder);
      await stage.mend(['unmount']);
      expect(leftoverMounts(stage.user.home)).toEqual([]);
      expect(await contentsOf(stage, folder)).toBe(
        '600 ./.x.swp: swap\n640 ./changed.md: new\n600 ./fresh/deep/new.md: new\n444 ./same.md: same\n600 ./sub/moved.md: moved\n'.replace(
          '600 ./.x.swp',
          `${(await stage.sh('stat -c %a "$1/.x.swp"', folder)).trim()} ./.x.swp`,
        ),
      );
      expect(await stage.sh('stat -c %Y "$1/changed.md"; stat -c %a "$1/fresh"', folder)).toBe(`${time}700\n`);
      // A file that is replaced is never half written: who has it open still reads all of the old one.
      const held = await agent.run(
        (fs, own, dir) => [
          fs.readFileSync(own['changed'] ?? -1, 'utf8'),
          String(fs.statSync(`${dir}/same.md`).ino === own['same']),
        ],
        folder,
      );
      expect(held).toEqual(['old\n', 'true']);
    }),
    70_000,
  );

  test(
    'never overwrites what was not taken in',
    staged(40, async (stage) => {
      const folder = stage.folder();
      const script = `mkdir -p "$1"; cd "$1"; head -c 1048577 /dev/zero | tr '\\0' x >large.md; ln -s /etc/hostname link.md
        mkfifo fifo.md; echo one >raced.md`;
      await stage.sh(script, folder);
      const agent = await stage.agent();
      await agent.run((fs, own, dir) => {
        own['dir'] = fs.openSync(dir, 'r');
      }, folder);
      await stage.mend(['mount'], { status: 3 });
      await stage.sh('cd "$1"; for f in large.md link.md fifo.md raced.md; do echo head >$f; done', folder);
      await agent.run((fs, own) => fs.writeFileSync(`/proc/self/fd/${own['dir']}/raced.md`, 'written underneath\n'));
      const { stderr } = await stage.mend(['unmount'], { status: 3 });
      for (const name of ['large.md', 'link.md', 'fifo.md', 'raced.md']) expect(stderr).toContain(name);
      expect(await stage.sh('cd "$1"; find . -mindepth 1 -printf "%y %s %P\\n" | sort; cat raced.md', folder)).toBe(
        'f 1048577 large.md\nf 19 raced.md\nl 13 link.md\np 0 fifo.md\nwritten underneath\n',
      );
      for (const name of ['large.md', 'link.md', 'fifo.md', 'raced.md']) expect(await stage.show(name)).toBe('head\n');
      // The next mount merges what can be merged.
      await stage.mend(['mount'], { status: 3 });
      expect(await stage.show('raced.md')).toBe('head\nwritten underneath\n');
    }),
    70_000,
  );

  test(
    'from outside, by fusermount3 -u, writes back as well',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      await stage.sh('echo text >"$1/note.md"; cd /; fusermount3 -u "$1"', folder);
      await until(
        async () => (await contentsOf(stage, folder)) === '600 ./note.md: text\n',
        'the memory to be written back',
      );
      await until(async () => (await stage.status()).pid === null, 'the daemon to end with its last mount');
      await stage.mount();
      expect(await stage.sh('cat "$1/note.md"', folder)).toBe('text\n');
    }),
    70_000,
  );

  test(
    'is refused while a file is open, and with --force keeps what was not closed',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      const agent = await stage.agent();
      await agent.run((fs, own, dir) => {
        fs.writeFileSync(`${dir}/note.md`, 'saved');
        own['fd'] = fs.openSync(`${dir}/note.md`, 'w');
        fs.writeSync(own['fd'], 'not closed');
      }, folder);
      const { stderr } = await stage.mend(['unmount'], { status: 1 });
      expect(stderr).toContain('--force');
      expect(leftoverMounts(stage.user.home)).toEqual([folder]);
      expect((await stage.status()).sessions).toEqual([`claude ${agent.leader}`]);
      await stage.mend(['unmount', '--force']);
      expect(leftoverMounts(stage.user.home)).toEqual([]);
      expect(await contentsOf(stage, folder)).toBe('600 ./note.md: saved\n');
      expect(await stage.contents('note.md', 'interrupted')).toEqual(['not closed']);
    }),
    70_000,
  );
});

describe('the next mount', () => {
  test(
    'takes in what changed underneath meanwhile, and keeps what was removed there',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      await stage.sh('cd "$1"; echo one >changed.md; echo one >removed.md; echo one >same.md', folder);
      await stage.mend(['unmount']);
      await stage.sh('cd "$1"; echo two >changed.md; rm removed.md; mkdir sub; echo new >sub/new.md', folder);
      const { stdout } = await stage.mend(['mount']);
      expect(stdout).toContain('took in 2 files');
      expect(await contentsOf(stage, folder)).toBe(
        '600 ./changed.md: two\n600 ./removed.md: one\n600 ./same.md: one\n600 ./sub/new.md: new\n',
      );
      expect(await stage.kinds('changed.md')).toEqual(['imported', 'saved']);
      expect(await stage.kinds('same.md')).toEqual(['saved']);
      await stage.mend(['unmount']);
      expect(await stage.sh('cat "$1/removed.md"', folder)).toBe('one\n');
      expect((await stage.mend(['mount'])).stdout).toBe(`mounted ${folder}\n`);
    }),
    70_000,
  );

  test(
    'merges what changed on both sides; what cannot be merged is kept as a version, and the status is 3',
    staged(60, async (stage) => {
      const home = await secondHome(stage);
      const folder = await stage.mount();
      const other = await stage.mount({ home });
      await stage.sh(`cd "$1"; echo base >both.md; printf 'base\\0' >odd.bin; echo base >removed.md`, folder);
      await stage.mend(['unmount', folder]);
      expect(leftoverMounts(stage.user.home)).toEqual([other]);
      const script = `cd "$1"; (echo folder; echo base) >both.md; printf 'folder\\0' >odd.bin; echo folder >removed.md
        cd "$2"; echo store >>both.md; printf 'store\\0' >odd.bin; rm removed.md`;
      await stage.sh(script, folder, other);
      const { stdout, stderr } = await stage.mend(['mount'], { status: 3 });
      expect(stdout).toContain('took in 2 files that lay there');
      expect(stderr).toContain('1 file in the folder could not be merged with what the store has');
      const text = `cat both.md removed.md; tr '\\0' . <odd.bin`;
      const expected = 'folder\nbase\nstore\nfolder\nstore.';
      for (const mount of [folder, other]) expect(await stage.sh(`cd "$1"; ${text}`, mount)).toBe(expected);
      expect(await stage.contents('odd.bin', 'conflict')).toEqual(['folder\0']);
      await stage.mend(['unmount', '--all']);
      for (const place of [folder, other]) expect(await stage.sh(`cd "$1"; ${text}`, place)).toBe(expected);
      // Settled once, it is not named again.
      await stage.mount();
    }),
    90_000,
  );

  test(
    'what was removed in the store while the folder was unmounted is not added again',
    staged(60, async (stage) => {
      const home = await secondHome(stage);
      const folder = await stage.mount();
      const other = await stage.mount({ home });
      await stage.sh('cd "$1"; echo text >note.md; echo text >kept.md', folder);
      await stage.mend(['unmount', folder]);
      await stage.sh('rm "$1/note.md"', other);
      await stage.mount();
      expect(await stage.sh('ls -A "$1"', folder)).toBe('kept.md\n');
      await stage.mend(['unmount', '--all']);
      expect(await stage.sh('ls -A "$1"; ls -A "$2"', folder, other)).toBe('kept.md\nkept.md\n');
    }),
    90_000,
  );
});

test(
  'a second mount says so and harms nobody, also from a sub-folder and from a linked worktree',
  staged(60, async (stage) => {
    const worktree = join(stage.user.home, 'linked');
    const script = `cd "$1"; mkdir sub; git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m first
      git worktree add -q "$2"; mkdir "$2/inner"`;
    await stage.sh(script, stage.repository, worktree);
    const folder = await stage.mount();
    const { pid } = await stage.status();
    const agent = await stage.agent();
    await agent.run((fs, own, file) => {
      own['fd'] = fs.openSync(file, 'w');
      fs.writeSync(own['fd'], 'begun, ');
    }, `${folder}/note.md`);
    for (const cwd of [stage.repository, join(stage.repository, 'sub'), worktree, join(worktree, 'inner')]) {
      expect((await stage.mend(['mount'], { cwd })).stdout).toBe(`already mounted ${folder}\n`);
    }
    expect((await stage.mend(['mount', '--all'])).stdout).toBe(`already mounted ${folder}\n`.repeat(1));
    await agent.run((fs, own) => {
      fs.writeSync(own['fd'] ?? -1, 'ended');
      fs.closeSync(own['fd'] ?? -1);
    });
    expect(leftoverMounts(stage.user.home)).toEqual([folder]);
    expect((await stage.status()).pid).toBe(pid);
    expect(await stage.kinds('note.md')).toEqual(['saved']);
    expect(await stage.show('note.md')).toBe('begun, ended');
    await stage.mend(['unmount'], { cwd: worktree });
    expect(leftoverMounts(stage.user.home)).toEqual([]);
    expect(await contentsOf(stage, folder)).toBe('600 ./note.md: begun, ended\n');
  }),
  90_000,
);
