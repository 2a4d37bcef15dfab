import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { python } from '../posix/run.js';
import { type Stage, staged, until } from './stage.js';

const interpreter = python();
const withPython = test.runIf(interpreter !== undefined);
const MB = 1024 * 1024;

/** Settings of limits, which the next daemon follows. */
const setLimits = (stage: Stage, limits: string) =>
  stage.sh('mkdir -p "$HOME/.config/mend"; printf "limits: {%s}\\n" "$1" >"$HOME/.config/mend/config.yaml"', limits);

/** @param status of the mount: 3 where a plain file is left out, since it is over a limit by now */
async function restart(stage: Stage, status = 0): Promise<string> {
  await stage.mend(['unmount', '--all']);
  await until(async () => (await stage.status()).pid === null, 'the daemon to end');
  return stage.mount({ status });
}

withPython(
  'a byte over the limit of a file: EFBIG also by fallocate, copy_file_range and a new length by name; the old bytes stay',
  staged(120, async (stage) => {
    const folder = await stage.mount();
    const script = `
import errno, json, os, sys
folder, mb = sys.argv[1], 1 << 20
def attempt(work):
    try: return str(work())
    except OSError as error: return errno.errorcode[error.errno]
def fresh(name, length):
    with open(f"{folder}/{name}", "wb") as file: file.write(b"x" * length)
    return os.open(f"{folder}/{name}", os.O_RDWR)
fd, source, target = fresh("a.md", mb), fresh("source.bin~", mb + 1), fresh("b.md", 3)
print(json.dumps({
    "fallocate": attempt(lambda: os.posix_fallocate(fd, mb, 1)),
    "fallocate of what is there": attempt(lambda: os.posix_fallocate(fd, 0, mb)),
    "copy_file_range": attempt(lambda: os.copy_file_range(source, target, mb + 1, 0, 0) and os.copy_file_range(source, target, 1, mb, mb)),
    "truncate": attempt(lambda: os.truncate(f"{folder}/a.md", mb + 1)),
    "rename": attempt(lambda: os.rename(f"{folder}/source.bin~", f"{folder}/c.md")),
}))
os.close(fd)`;
    expect(JSON.parse(await stage.sh('"$1" -c "$2" "$3"', interpreter ?? '', script, folder))).toEqual({
      fallocate: 'EFBIG',
      'fallocate of what is there': 'None',
      copy_file_range: 'EFBIG',
      truncate: 'EFBIG',
      rename: 'EFBIG',
    });
    expect(await stage.sh('cd "$1"; stat -c "%n %s" a.md source.bin~; ls', folder)).toBe(
      `a.md ${MB}\nsource.bin~ ${MB + 1}\na.md\nb.md\nsource.bin~\n`,
    );
    expect((await stage.mend(['status'])).stderr).toMatch(/^mend: c\.md of .* was refused: it is over a limit/);
  }),
  180_000,
);

test(
  'files and folders over their number, and a folder that would go deeper than 16 levels with what is in it',
  staged(180, async (stage) => {
    await setLimits(stage, 'files: 5');
    const folder = await stage.mount();
    const attempt = (script: string) => stage.sh(`cd "$1"; (${script}) 2>&1 || true`, folder);
    await stage.sh('cd "$1"; for i in 1 2 3 4 5; do echo $i >$i.md; mkdir d$i; done', folder);
    for (const script of ['echo 6 >6.md', 'mkdir d6', 'echo 6 >6.md~ && mv 6.md~ 6.md', 'mv -n 6.md~ 7.md'])
      expect(await attempt(script), script).toMatch(/No space left on device/);
    expect(await stage.sh('cd "$1"; ls | tr "\\n" " "; df --output=iavail . | tail -1', folder)).toMatch(
      /^1\.md 2\.md 3\.md 4\.md 5\.md 6\.md~ d1 d2 d3 d4 d5 +0\n$/,
    );
    expect((await stage.mend(['status'])).stderr).toMatch(/7\.md of project/);
    // Names come back with rm and purge.
    await stage.sh('cd "$1"; rm 1.md; rmdir d1', folder);
    await stage.mend(['memory', 'purge', '2.md', '--confirm', '2.md']);
    await stage.sh('cd "$1"; mv 6.md~ 6.md; mkdir d6', folder);

    await setLimits(stage, 'files: 100');
    expect(await restart(stage)).toBe(folder);
    const levels = (count: number) => Array.from({ length: count }, () => 'x').join('/');
    await stage.sh('cd "$1"; mkdir -p "$2" deep/in/it; echo x >deep/in/it/note.md', folder, levels(13));
    // With its file it is four levels high.
    expect(await attempt(`mv deep ${levels(13)}/`)).toMatch(/File name too long/);
    expect(await attempt(`mv deep/in ${levels(13)}/`)).toBe('');
    expect(await attempt(`mkdir ${levels(13)}/in/it/on; echo x >${levels(13)}/in/it/on/note.md`)).toMatch(/too long/);
    expect(await stage.sh('cd "$1"; cat "$2/in/it/note.md"', folder, levels(13))).toBe('x\n');
    expect((await stage.mend(['memory'])).stdout).toContain(`${levels(13)}/in/it/note.md`);
  }),
  240_000,
);

test(
  'limits that are set below what is stored take nothing away: it can be read, made smaller and removed, not made larger',
  staged(180, async (stage) => {
    await stage.mount();
    const before = stage.folder();
    await stage.sh('cd "$1"; for i in 1 2 3 4; do head -c 50000 /dev/zero >$i.md; done', before);
    await setLimits(stage, 'files: 2, bytes: 100000, file_bytes: 20000');
    const folder = await restart(stage, 3);
    const attempt = (script: string) => stage.sh(`cd "$1"; (${script}) 2>&1 || true`, folder);
    expect(
      await stage.sh(
        'cd "$1"; cat *.md | wc -c; df --output=avail . | tail -1; df --output=iavail . | tail -1',
        folder,
      ),
    ).toMatch(/^200000\n +0\n +0\n$/);
    expect(await attempt('echo x | cat >>1.md')).toMatch(/File too large/);
    expect(await attempt('echo x >5.md')).toMatch(/No space left on device/);
    expect(await attempt('truncate -s 30000 1.md')).toBe('');
    expect(await attempt('echo small >2.md')).toBe('');
    expect(await attempt('rm 3.md')).toBe('');
    expect(await stage.sh('cd "$1"; stat -c "%n %s" *.md', folder)).toBe('1.md 30000\n2.md 6\n4.md 50000\n');
    expect((await stage.json<unknown[]>(['memory'])).length).toBe(3);
    await stage.mend(['unmount', '--all']);
    expect(await stage.sh('cd "$1"; stat -c "%n %s" *.md', folder)).toBe('1.md 30000\n2.md 6\n4.md 50000\n');
  }),
  240_000,
);

test(
  'what is purged is given back to the disk; what is removed and overwritten is used again',
  staged(240, async (stage) => {
    const folder = await stage.mount();
    const file = join(stage.store, 'store.db');
    const write = (from: number, to: number) =>
      stage.sh(
        'cd "$1"; for i in $(seq "$2" "$3"); do head -c 1000000 /dev/urandom >big.md; done',
        folder,
        String(from),
        String(to),
      );
    await stage.sh('echo small >"$1/small.md"', folder);
    await write(1, 20);
    await stage.sh('rm "$1/big.md"', folder);
    const purge = async () => {
      await stage.mend(['memory', 'purge', 'big.md', '--confirm', 'big.md']);
    };
    await purge();
    expect(statSync(file).size).toBeLessThan(2 * MB);
    expect((await stage.status()).mounts[0]).toMatchObject({ files: 1, bytes: 6 });
    // Saved 60 times, of which the last twenty and the head are kept.
    await write(1, 60);
    await purge();
    expect(statSync(file).size).toBeLessThan(2 * MB);
    expect(await stage.sh('cat "$1/small.md"; ls "$1"', folder)).toBe('small\nsmall.md\n');
  }),
  300_000,
);
