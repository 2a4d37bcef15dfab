import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { programPath } from '../support/program.js';
import { isRoot } from '../support/users.js';
import { type Stage, staged } from './stage.js';

/** Folders that a mount is on, as the kernel's table has them, of this stage alone. */
const mounted = (stage: Stage): string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
    .filter((path) => path.startsWith(`${stage.user.home}/`));

/** Everything in a folder: names, modes, contents. */
const all = (stage: Stage, folder: string) =>
  stage.sh('cd "$1"; find . -printf "%P %m\\n" -type f -exec cat {} ";" | sort', folder);

/** Undoes a swap of a folder with a link, wherever it was stopped. */
const PUT_BACK = 'if test -L "$1"; then rm "$1"; fi; if test -d "$1.moved"; then mv "$1.moved" "$1"; fi';

/** Another home of the same user. */
const elsewhere = (stage: Stage): string => join(stage.user.home, 'elsewhere');

interface Scene {
  /** The memory folder, and the folder of the harness above it that is replaced. */
  readonly folder: string;
  readonly above: string;
  /** A folder of something else, built alike. */
  readonly victim: string;
  readonly inVictim: string;
  readonly env: Record<string, string>;
}

/** A memory folder that was mounted once, and a folder of other things with the same names in it. */
async function scene(stage: Stage): Promise<Scene> {
  const home = elsewhere(stage);
  const other = stage.folder({ home });
  const folder = await stage.mount();
  await stage.sh('echo ours >"$1/note.md"', folder);
  await stage.mend(['unmount']);
  const above = join(stage.user.home, '.claude', 'projects');
  const victim = join(stage.user.home, 'victim');
  const inVictim = folder.replace(above, victim);
  await stage.sh('mkdir -p "$1"; echo private >"$1/private.md"; echo other >"$1/note.md"', inVictim);
  const programs = join(stage.user.home, 'programs');
  // What happens at the worst moment: after mend has checked, before the helper mounts. Another mount is taken off, whose
  // number in the kernel's table the new one gets.
  const helper = `#!/bin/sh
case "$* $(readlink /proc/$$/fd/4)" in
-o*" ${folder}") "$0" -uz "${other}"; mv "${above}" "${above}.moved"; ln -s "${victim}" "${above}" ;;
esac
PATH="\${PATH#*:}" exec fusermount3 "$@"
`;
  await stage.sh(
    'mkdir "$1" "$3"; printf %s "$2" >"$1/fusermount3"; chmod 755 "$1/fusermount3"',
    programs,
    helper,
    home,
  );
  return { folder, above, victim, inVictim, env: { PATH: `${programs}:${process.env['PATH'] ?? '/usr/bin:/bin'}` } };
}

/** What is said of the plain folder under a mount that was moved. */
const MOVED = 'was moved while it was mounted, so no memory was written back there: it is safe in the store';

describe('a folder above the mount point that is renamed while it is mounted', () => {
  /** A mount with a note whose harness's folder is renamed; the mount goes with it. */
  async function renamed(stage: Stage) {
    const folder = await stage.mount();
    await stage.sh('echo ours >"$1/note.md"', folder);
    const above = join(stage.user.home, '.claude', 'projects');
    const moved = folder.replace(above, `${above}.moved`);
    await stage.sh('mv "$1" "$1.moved"', above);
    expect(mounted(stage)).toEqual([moved]);
    return { folder, moved };
  }

  test(
    'is told by status and doctor, and the next mount is in its place again',
    staged(120, async (stage) => {
      const { folder, moved } = await renamed(stage);
      const { stderr } = await stage.mend(['status']);
      expect(stderr).toBe(
        `mend: the folder of the mount on ${folder} was moved to ${moved}: "mend mount --project repository" mounts in its place again\n`,
      );
      const doctor = await stage.mend(['doctor'], { status: 3 });
      expect(doctor.stdout).toMatch(
        /problem {2}mounts .* was moved to \S+\.moved\/\S+ while it was mounted: agents find no/,
      );
      expect(doctor.stdout.match(/\.moved\//g)).toHaveLength(1);
      // Another server knows it, too.
      await stage.mend(['daemon', 'restart']);
      expect(mounted(stage)).toEqual([moved]);

      const holder = stage.user.spawn(['sh', '-c', 'cd "$0"; echo in; exec sleep 60', moved]);
      await new Promise((resolve) => holder.stdout?.once('data', resolve));
      const refused = await stage.mend(['mount'], { status: 1 });
      expect(refused.stderr).toMatch(
        /^mend: the folder of the mount on \S+ was moved to \S+, and files are open there: [^\n]+\n$/,
      );
      holder.kill('SIGKILL');
      await new Promise((resolve) => holder.once('close', resolve));

      expect((await stage.mend(['mount'])).stdout).toBe(`mounted ${folder}\n`);
      expect(mounted(stage)).toEqual([folder]);
      expect((await stage.status()).mounts.map(({ path }) => path)).toEqual([folder]);
      expect(await stage.sh('cat "$1/note.md"', folder)).toBe('ours\n');
      await stage.mend(['unmount']);
      expect(await stage.sh('cat "$1/note.md"', folder)).toBe('ours\n');
    }),
    180_000,
  );

  test.each([['the checkout'], ['its place'], ['all']])(
    'is taken off by an unmount of %s',
    (what) =>
      staged(120, async (stage) => {
        const { folder, moved } = await renamed(stage);
        const words = what === 'all' ? ['--all'] : what === 'its place' ? [moved] : [];
        const { stdout, stderr } = await stage.mend(['unmount', ...words], { status: 3 });
        expect([stdout, stderr]).toEqual([`unmounted ${moved}\n`, `mend: left as it was: ${moved} ${MOVED}\n`]);
        expect(mounted(stage)).toEqual([]);
        await stage.mend(['mount']);
        expect(await stage.sh('cat "$1/note.md"', folder)).toBe('ours\n');
      })(),
    180_000,
  );
});

describe('a folder above the mount point that becomes a link to another folder', () => {
  test(
    'between the check and the mount: nothing is mounted, and nothing of the other folder is read or changed',
    staged(120, async (stage) => {
      const { folder, above, victim, inVictim, env } = await scene(stage);
      const before = await all(stage, victim);
      await stage.mount({ home: elsewhere(stage), env });
      const { stderr } = await stage.mend(['mount'], { status: 1, env });
      expect(stderr).toMatch(/a folder above it was moved or replaced by a link meanwhile; run the command again/);
      expect(mounted(stage)).toEqual([]);
      expect(await all(stage, victim)).toBe(before);
      expect(await stage.sh('cat "$1"', `${folder.replace(above, `${above}.moved`)}/note.md`)).toBe('ours\n');
      expect((await stage.json<{ file: string }[]>(['memory'])).map(({ file }) => file)).toEqual(['note.md']);
      expect(await stage.show('note.md')).toBe('ours\n');
      // Put back, it works as if nothing had been.
      await stage.sh('rm "$1"; mv "$1.moved" "$1"', above);
      expect(await stage.mount()).toBe(folder);
      expect(await stage.sh('cat "$1/note.md"; ls "$2"', folder, inVictim)).toBe('ours\nnote.md\nprivate.md\n');
    }),
    180_000,
  );

  test(
    'while it is mounted: memory is written back nowhere else, and the next mount is in its place again',
    staged(120, async (stage) => {
      const { folder, above, victim } = await scene(stage);
      const before = await all(stage, victim);
      await stage.mount();
      await stage.sh('echo newer >"$1/note.md"', folder);
      await stage.sh('mv "$1" "$1.moved"; ln -s "$2" "$1"', above, victim);
      const moved = folder.replace(above, `${above}.moved`);
      const { stdout, stderr } = await stage.mend(['unmount'], { status: 3 });
      expect(stdout).toBe(`unmounted ${moved}\n`);
      expect(stderr).toBe(`mend: left as it was: ${moved} ${MOVED}\n`);
      expect(mounted(stage)).toEqual([]);
      expect(await all(stage, victim)).toBe(before);
      expect(await stage.show('note.md')).toBe('newer\n');
      await stage.sh('rm "$1"; mv "$1.moved" "$1"', above);
      await stage.mount();
      expect(await stage.sh('cat "$1/note.md"', folder)).toBe('newer\n');
    }),
    180_000,
  );

  test.runIf(isRoot)(
    "again and again, to a folder that is another user's and open to all: never is anything mounted there",
    staged(240, async (stage) => {
      const { folder, above, victim, inVictim } = await scene(stage);
      // Open to everybody, so that nothing but mend's own checks is in the way.
      execFileSync('chown', ['-R', '0:0', victim]);
      execFileSync('chmod', ['-R', 'a+rwX', victim]);
      const before = await all(stage, victim);
      const loop = `my ($at, $to) = @ARGV; while (1) {
        rename $at, "$at.moved"; symlink $to, $at; select undef, undef, undef, 0.002;
        unlink $at; rename "$at.moved", $at; select undef, undef, undef, 0.002; }`;
      let refused = 0;
      for (let round = 0; round < 5 || (refused === 0 && round < 15); round++) {
        const swapping = stage.user.spawn(['perl', '-e', loop, above, victim], { cwd: '/', stdio: 'ignore' });
        const command = [process.execPath, programPath(), 'mount'] as const;
        const { code } = await stage.user.run(command, { cwd: stage.repository, env: { MEND_STORE_DIR: stage.store } });
        if (code !== 0) refused++;
        swapping.kill('SIGKILL');
        await new Promise((resolve) => swapping.once('close', resolve));
        const wrong = mounted(stage).filter((path) => path.startsWith(victim));
        expect(wrong, `round ${round}`).toEqual([]);
        await stage.sh(PUT_BACK, above);
        for (const path of mounted(stage)) execFileSync('umount', ['--lazy', path]);
      }
      // Some of them must have met it, or this shows nothing.
      expect(refused).toBeGreaterThan(0);
      expect(await all(stage, victim)).toBe(before);
      expect((await stage.json<{ file: string }[]>(['memory'])).map(({ file }) => file)).toEqual(['note.md']);
      expect(await stage.mount()).toBe(folder);
      expect(await stage.sh('cat "$1/note.md"; ls "$2"', folder, inVictim)).toBe('ours\nnote.md\nprivate.md\n');
    }),
    300_000,
  );
});
