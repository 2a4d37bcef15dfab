import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shared } from './agent.js';
import { gitHistory, gitModes } from './git-source.js';
import { type Stage, staged } from './stage.js';

/** Makes a bare repository of a history in the user's home. */
async function source(stage: Stage, name: string, history: Buffer): Promise<string> {
  const repository = join(stage.user.home, name);
  await stage.sh('git init -q --bare -b main "$1"', repository);
  const made = await stage.user.run(['git', '-C', repository, 'fast-import', '--quiet'], { input: history });
  expect(made, made.stderr).toMatchObject({ code: 0 });
  return repository;
}

/** Runs the work in a folder, and gives back what it printed. */
async function work(stage: Stage, folder: string, repository: string): Promise<string> {
  const script = shared('git-work.sh', join(import.meta.dirname, 'git-work.sh'));
  const elsewhere = (await stage.sh('mktemp -d "$HOME/elsewhere-XXXXXX"')).trim();
  const done = await stage.user.run(['sh', script, folder, repository, elsewhere], { timeout: 180 });
  expect(done, `${done.stdout.slice(-500)} ${done.stderr}`).toMatchObject({ code: 0, signal: null });
  // Warnings, such as of names in the way.
  expect(done.stderr).toBe('');
  return done.stdout;
}

test(
  'a repository cloned into the memory folder works as in a plain one, to the same commits; its files are memory',
  staged(240, async (stage) => {
    const repository = await source(stage, 'source.git', gitHistory());
    const folder = await stage.mount();
    const plain = (await stage.sh('mktemp -d "$HOME/plain-XXXXXX"')).trim();
    const expected = await work(stage, plain, repository);
    expect(expected).toContain('== in the end\n');
    expect(await work(stage, folder, repository)).toBe(expected);

    const listed = await stage.json<{ file: string }[]>(['memory']);
    const tracked = await stage.sh('cd "$1"; git ls-files -z', folder);
    expect(listed.map(({ file }) => file).sort()).toEqual(tracked.split('\0').slice(0, -1).sort());
    expect((await stage.log()).filter(({ file }) => file.includes('.git'))).toEqual([]);
    expect(await stage.sh('diff -r -x .git "$1" "$2"', plain, folder)).toBe('');
  }),
  300_000,
);

test(
  'a clone in a local folder is whole and clean; without links and modes Git keeps them in the index',
  staged(60, async (stage) => {
    const repository = await source(stage, 'modes.git', gitModes());
    const folder = await stage.mount();
    const script = `cd "$2"; git clone -q "$1" clone.tmp; cd clone.tmp
      git status --porcelain; git fsck --full --strict --no-progress; git ls-files -s | cut -d' ' -f1
      git config core.fileMode; git config core.symlinks; cat latest; stat -c ' %a %F' latest run.sh`;
    expect((await stage.sh(script, repository, folder)).split('\n')).toEqual([
      '120000',
      '100755',
      'false',
      'false',
      'run.sh 600 regular file',
      ' 600 regular file',
      '',
    ]);
    expect(await stage.json(['memory'])).toEqual([]);
  }),
  90_000,
);

test(
  'a baseline is made, looked at, thrown away and made anew beside the notes, while they are saved',
  staged(60, async (stage) => {
    const folder = await stage.mount();
    const script = `cd "$1"; export GIT_CONFIG_GLOBAL=/dev/null
      ada='git -c user.name=Ada -c user.email=ada@example.org'
      for round in 1 2 3; do
        echo "round $round" >note.md; mkdir -p sub; echo "$round" >"sub/$round.md"
        git init -q -b main; $ada add -A; $ada commit -q -m "Baseline $round"
        echo "changed in $round" >>note.md
        git diff --stat | tail -1; git status --porcelain; git fsck --full --strict --no-progress
        rm -rf .git; ls -A
      done`;
    const round = [' 1 file changed, 1 insertion(+)', ' M note.md', 'note.md', 'sub'];
    expect((await stage.sh(script, folder)).split('\n')).toEqual([...round, ...round, ...round, '']);
    expect(await stage.show('note.md')).toBe('round 3\nchanged in 3\n');
  }),
  90_000,
);
