import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { leftoverMounts } from '../support/mounted.js';
import { contentsOf } from './folder-contents.js';
import { staged, until } from './stage.js';

describe('the first mount', () => {
  test(
    'takes in what lies in the folder, sub-folders too, with the times that the files have',
    staged(40, async (stage) => {
      const folder = stage.folder();
      const script = `mkdir -p "$1/topics/deep"; cd "$1"
        echo index >MEMORY.md; echo topic >topics/topic.md; printf 'no end of line' >"topics/deep/ä b.md"; : >empty.md
        echo swap >.note.md.swp; touch -d 2021-03-04T05:06:07Z MEMORY.md; chmod 644 MEMORY.md`;
      await stage.sh(script, folder);
      const { stdout } = await stage.mend(['mount']);
      expect(stdout).toBe(`mounted ${folder}\ntook in 4 files that lay there\n`);
      expect(leftoverMounts(stage.user.home)).toEqual([folder]);
      expect(await contentsOf(stage, folder)).toBe(
        '600 ./MEMORY.md: index\n600 ./empty.md: \n600 ./topics/deep/ä b.md: no end of line\n600 ./topics/topic.md: topic\n',
      );
      expect(await stage.sh('stat -c %Y "$1/MEMORY.md"', folder)).toBe(`${Date.UTC(2021, 2, 4, 5, 6, 7) / 1000}\n`);
      expect(new Set((await stage.log()).map(({ kind }) => kind))).toEqual(new Set(['imported']));
    }),
    70_000,
  );

  test(
    'hides nothing of what is saved while it comes up',
    staged(60, async (stage) => {
      const folder = stage.folder();
      const saving = `mkdir -p "$1"; cd /; n=0; while [ -e "$2" ]; do n=$((n + 1)); echo "$n" >"$1/$n.md"; sleep 0.002; done; echo "$n"`;
      const go = join(stage.user.home, 'go');
      for (let round = 0; round < 3; round++) {
        await stage.sh(': >"$1"', go);
        const saved = stage.sh(saving, folder, go);
        await until(async () => (await stage.sh('ls "$1" 2>/dev/null | wc -l', folder)) > '1', 'files');
        await stage.mend(['mount']);
        await stage.sh('rm "$1"', go);
        const files = Number(await saved);
        expect(await stage.sh('ls "$1" | wc -l', folder)).toBe(`${files}\n`);
        await stage.mend(['unmount']);
        await stage.sh('rm -r "$1"', folder);
        await stage.mend(['mount']);
        await stage.sh('rm -r "$1"/*', folder);
        await stage.mend(['unmount']);
      }
    }),
    90_000,
  );

  test(
    'leaves what is under it to read through a handle opened before',
    staged(40, async (stage) => {
      const folder = stage.folder();
      await stage.sh('mkdir -p "$1"; echo below >"$1/note.md"', folder);
      const agent = await stage.agent();
      await agent.run((fs, own, dir) => {
        own['dir'] = fs.openSync(dir, 'r');
      }, folder);
      await stage.mount();
      await stage.sh('echo above >"$1/note.md"', folder);
      const below = await agent.run((fs, own) => fs.readFileSync(`/proc/self/fd/${own['dir']}/note.md`, 'utf8'));
      expect([below, await stage.sh('cat "$1/note.md"', folder)]).toEqual(['below\n', 'above\n']);
    }),
    70_000,
  );

  test(
    'names what cannot be memory, ends with status 3, and leaves it where it is',
    staged(40, async (stage) => {
      const folder = stage.folder();
      const script = `mkdir -p "$1"; cd "$1"; echo good >good.md
        ln -s /etc/hostname link.md; ln -s good.md inner.md; ln -s /etc linked; mkfifo fifo.md
        head -c 1048577 /dev/zero | tr '\\0' x >large.md; head -c 1048576 /dev/zero | tr '\\0' y >largest.md
        printf bad >"$(printf 'bad-\\377.md')"; echo unreadable >unreadable.md; chmod 000 unreadable.md`;
      await stage.sh(script, folder);
      const { stderr } = await stage.mend(['mount'], { status: 3 });
      for (const [name, reason] of [
        ['link.md', 'symbolic link'],
        ['inner.md', 'symbolic link'],
        ['linked', 'symbolic link'],
        ['fifo.md', 'not a regular file'],
        ['large.md', 'larger than 1048576 bytes'],
        ['bad-', 'not valid UTF-8'],
      ] as const) {
        expect(stderr.split('\n')).toContainEqual(expect.stringMatching(new RegExp(`${name}.*${reason}`)));
      }
      // Root reads what nobody may; everybody else is told.
      const readable = stage.user.uid === 0 ? ['unreadable.md'] : [];
      if (readable.length === 0) expect(stderr).toMatch(/unreadable\.md.*cannot be read/);
      const memory = ['good.md', 'largest.md', ...readable];
      expect(await stage.sh('ls -A "$1"', folder)).toBe(`${memory.join('\n')}\n`);

      await stage.mend(['unmount']);
      const after = await stage.sh(
        'cd "$1"; find . -mindepth 1 -printf "%y %l %s %P\\n" | LC_ALL=C sort | tr "\\377" "?"',
        folder,
      );
      expect(after.trim().split('\n')).toEqual(
        [
          'f  10 unreadable.md'.replace('10', '11'),
          'f  1048576 largest.md',
          'f  1048577 large.md',
          'f  3 bad-?.md',
          'f  5 good.md',
          'l /etc 4 linked',
          'l /etc/hostname 13 link.md',
          'l good.md 7 inner.md',
          'p  0 fifo.md',
        ].sort(),
      );
    }),
    70_000,
  );

  test(
    'over the limit of files: names the files left out, and leaves them where they are',
    staged(60, async (stage) => {
      const folder = stage.folder();
      await stage.sh('mkdir -p "$1"; cd "$1"; for i in $(seq -w 2003); do echo $i >$i.md; done', folder);
      const { stderr } = await stage.mend(['mount'], { status: 3 });
      const named = stderr.split('\n').filter((line) => line.includes('is over the limit of 2000 files'));
      expect(named.map((line) => /\d{4}\.md/.exec(line)?.[0])).toEqual(['2001.md', '2002.md', '2003.md']);
      expect(await stage.sh('ls -A "$1" | wc -l', folder)).toBe('2000\n');
      await stage.mend(['unmount']);
      expect(await stage.sh('ls -A "$1" | wc -l; cat "$1/2003.md"', folder)).toBe('2003\n2003\n');
    }),
    90_000,
  );
});
