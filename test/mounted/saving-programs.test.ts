import { describe, expect, test } from 'vitest';
import { harnessShell } from './agent.js';
import { staged } from './stage.js';

/**
 * Each saves `a` and a line end in `$1`, in the way of one kind of program; some of them remove what is there before
 * they write.
 */
const savers: [name: string, script: string, removes?: 'removes'][] = [
  ['echo', 'echo a >"$1"'],
  ['a program', 'printf "a\\n" | cat >"$1"'],
  ['a group', '{ printf a; echo; } >"$1"'],
  ['a subshell', '(printf a; echo) >"$1"'],
  ['a sub-process', 'sh -c "printf a; echo" >"$1"'],
  ['tee', 'echo a | tee "$1" >/dev/null'],
  ['dd', 'echo a | dd of="$1" bs=1 2>/dev/null'],
  ['dd with fsync', 'echo a | dd of="$1" conv=fsync 2>/dev/null'],
  ['cp', 'echo a >/tmp/saver.$$; cp /tmp/saver.$$ "$1"; rm /tmp/saver.$$'],
  ['cp -p', 'echo a >/tmp/saver.$$; cp -p /tmp/saver.$$ "$1"; rm /tmp/saver.$$'],
  ['mv from elsewhere', 'echo a >/tmp/saver.$$; mv /tmp/saver.$$ "$1"', 'removes'],
  ['install', 'echo a >/tmp/saver.$$; install -m 600 /tmp/saver.$$ "$1"; rm /tmp/saver.$$', 'removes'],
  ['a temporary and a rename', 'echo a >"$1.tmp.1.0123456789ab"; mv "$1.tmp.1.0123456789ab" "$1"'],
  ['another name and a rename', 'echo a >"$1.new.md"; mv "$1.new.md" "$1"'],
];

const shells: [name: string, command: [string, ...string[]]][] = [
  ['sh', ['/bin/sh']],
  ['bash', ['/bin/bash', '--norc']],
];

describe.each(shells)('a save by %s is exactly one version', (_, shell) => {
  test(
    'of a new file, and of one that is there',
    staged(60, async (stage) => {
      const folder = await stage.mount();
      for (const [index, [name, script]] of savers.entries()) {
        const run = async (path: string) => {
          const result = await stage.user.run([...shell, '-euc', script, 'sh', path]);
          expect(result, `${name}: ${result.stderr}`).toMatchObject({ code: 0 });
          return stage.sh('cat "$1"', path);
        };
        expect([name, await run(`${folder}/new-${index}.md`)]).toEqual([name, 'a\n']);
        await stage.sh('echo before, and longer >"$1"', `${folder}/old-${index}.md`);
        expect([name, await run(`${folder}/old-${index}.md`)]).toEqual([name, 'a\n']);
      }
      const found = new Map<string, string[]>();
      for (const { file, kind } of await stage.log()) found.set(file, [...(found.get(file) ?? []), kind]);
      const wanted = savers.flatMap(([name, , removes], index) => [
        [`new-${index}.md`, name, ['saved']],
        [`old-${index}.md`, name, removes ? ['saved', 'removed', 'saved'] : ['saved', 'saved']],
      ]);
      const nameOf = (file: string) => savers[Number(/\d+/.exec(file)?.[0])]?.[0];
      const order = (rows: unknown[][]) => rows.sort((a, b) => String(a[0]).localeCompare(String(b[0])));
      expect(order([...found].map(([file, kinds]) => [file, nameOf(file), kinds]))).toEqual(order(wanted));
    }),
    90_000,
  );

  test(
    'of an empty redirection: an empty file at once, also over a file that has content',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      const script =
        'cd "$1"; echo text >old.md; : >old.md; stat -c %s old.md; : >new.md; stat -c %s new.md; >bare.md; cat bare.md; : >>new.md';
      const result = await stage.user.run([...shell, '-euc', script, 'sh', folder]);
      expect(result).toMatchObject({ code: 0, stdout: '0\n0\n', stderr: '' });
      expect(await stage.sh('cd "$1"; stat -c "%n %s" *', folder)).toBe('bare.md 0\nnew.md 0\nold.md 0\n');
      for (const name of ['old.md', 'new.md', 'bare.md']) expect(await stage.show(name)).toBe('');
      expect(await stage.kinds('old.md')).toEqual(['saved', 'saved']);
      expect([await stage.kinds('new.md'), await stage.kinds('bare.md')]).toEqual([['saved'], ['saved']]);
    }),
    70_000,
  );

  test(
    'of a long-running redirection: empty for others until it ends, and the old text until then where there was one',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      await stage.sh('echo old >"$1/old.md"', folder);
      const script = 'cd "$1"; { echo one; echo ready >&2; read -r line; echo "$line"; } | tee new.md >old.md';
      const writer = stage.user.spawn([
        harnessShell(),
        '-euc',
        '"$0" "$@"; exit $?',
        ...shell,
        '-euc',
        script,
        'sh',
        folder,
      ]);
      const said = new Promise((resolve) => writer.stderr?.once('data', resolve));
      const ended = new Promise((resolve) => writer.once('close', resolve));
      await said;
      // tee has had the line for as long as `mend` takes.
      await stage.status();
      expect(await stage.sh('cd "$1"; cat old.md; cat new.md; stat -c "%n %s" *', folder)).toBe(
        'old\nnew.md 0\nold.md 4\n',
      );
      writer.stdin?.end('two\n');
      expect(await ended).toBe(0);
      expect(await stage.sh('cd "$1"; cat old.md new.md', folder)).toBe('one\ntwo\none\ntwo\n');
      expect([await stage.kinds('old.md'), await stage.kinds('new.md')]).toEqual([['saved', 'saved'], ['saved']]);
    }),
    70_000,
  );
});
