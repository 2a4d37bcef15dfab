import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Agent, harnessShell } from './agent.js';
import { staged, until } from './stage.js';

/** The POSIX session of a process: proc_pid_stat(5), field 6. */
function posixSession(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3];
}

/** Opens a file for writing, and writes without closing. */
const begin = (agent: Agent, path: string, text: string, flags = 'w') =>
  agent.run(
    (fs, own, file, content, how) => {
      own['fd'] = fs.openSync(file, how);
      fs.writeSync(own['fd'], content);
    },
    path,
    text,
    flags,
  );

const end = (agent: Agent) => agent.run((fs, own) => fs.closeSync(own['fd'] ?? -1));

const read = (agent: Agent, path: string) => agent.run((fs, _, file) => fs.readFileSync(file, 'utf8'), path);

/** What a program started by an agent prints; with `inherit`, the open file of the agent is its descriptor 3. */
const program = (agent: Agent, script: string, path: string, inherit = false) =>
  agent.run(
    (_, own, text, argument, inherits) => {
      const { spawnSync } = process.getBuiltinModule('node:child_process');
      const stdio = inherits
        ? (['ignore', 'pipe', 'pipe', own['fd'] ?? -1] as const)
        : (['ignore', 'pipe', 'pipe'] as const);
      const { stdout, status, stderr } = spawnSync('sh', ['-euc', text, 'sh', argument], {
        stdio: [...stdio],
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(stderr);
      return stdout;
    },
    script,
    path,
    inherit,
  );

describe('drafts by harness process', () => {
  test(
    'two runs of a harness are two sessions, even in one POSIX session; what one starts shares its draft',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      const path = `${folder}/note.md`;
      await stage.sh('printf old >"$1"', path);
      const [one, two] = [await stage.agent(), await stage.agent()];
      expect(posixSession(one.pid)).toBe(posixSession(two.pid));
      await begin(one, path, 'draft of one');
      await begin(two, path, 'draft of the other');
      for (const [agent, text] of [
        [one, 'draft of one'],
        [two, 'draft of the other'],
      ] as const) {
        expect(await read(agent, path)).toBe(text);
        expect(await program(agent, 'cat "$1"; stat -c " %s" "$1"', path)).toBe(`${text} ${text.length}\n`);
        // Also a program that left the terminal's session is one of the harness's.
        expect(await program(agent, 'setsid --wait cat "$1"', path)).toBe(text);
      }
      expect(await stage.sh('cat "$1"; stat -c " %s" "$1"', path)).toBe('old 3\n');
      await end(one);
      expect([await read(two, path), await stage.sh('cat "$1"', path)]).toEqual(['draft of the other', 'draft of one']);
      await end(two);
      for (const agent of [one, two]) expect(await read(agent, path)).toBe('draft of the other');
      const log = await stage.log('note.md');
      expect(log.map(({ kind, session }) => [kind, session])).toEqual([
        ['saved', `claude ${two.leader}`],
        ['saved', `claude ${one.leader}`],
        ['saved', expect.stringMatching(/^(session|claude) \d+$/)],
      ]);
      expect((await stage.status()).sessions).toEqual([]);
    }),
    70_000,
  );

  test(
    'a child that inherits a descriptor and ends has saved nothing, one that wrote through it has',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      const path = `${folder}/note.md`;
      await stage.sh('printf old >"$1"', path);
      const agent = await stage.agent();
      await begin(agent, path, 'first half, ');
      await program(agent, 'true', path, true);
      await program(agent, 'exec 3>&-', path, true);
      expect(await stage.sh('cat "$1"', path)).toBe('old');
      await agent.run((fs, own) => fs.writeSync(own['fd'] ?? -1, 'second half'));
      expect(await stage.sh('cat "$1"', path)).toBe('old');
      await end(agent);
      expect(await stage.sh('cat "$1"', path)).toBe('first half, second half');
      expect(await stage.kinds('note.md')).toEqual(['saved', 'saved']);

      await begin(agent, path, 'by the parent, ');
      await program(agent, 'printf "by the child" >&3', path, true);
      expect(await stage.sh('cat "$1"', path)).toBe('by the parent, by the child');
      await end(agent);
      expect(await stage.kinds('note.md')).toEqual(['saved', 'saved', 'saved']);
    }),
    70_000,
  );

  test(
    'a process that writes can start programs while its descriptors are closed on execve, and can become one itself',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      const path = `${folder}/note.md`;
      const agent = await stage.agent();
      await begin(agent, path, 'one, ');
      // Node.js opens files so that execve closes them: mend is asked while the child is in the middle of it.
      for (let round = 0; round < 20; round++) await program(agent, 'true', path);
      expect(await stage.kinds('note.md').catch(() => [])).toEqual([]);
      await agent.run((fs, own) => fs.writeSync(own['fd'] ?? -1, 'two'));
      await end(agent);
      expect(await stage.contents('note.md', 'saved')).toEqual(['one, two']);
      const become = `open(my $file, '>', $ARGV[0]) or die; syswrite($file, 'by perl'); exec('sleep', '600')`;
      const writer = stage.user.spawn(['perl', '-e', become, path], { stdio: 'ignore' });
      await until(async () => (await stage.sh('cat "$1"', path)) === 'by perl', 'the file to be closed');
      expect(writer.exitCode).toBeNull();
      expect(await stage.contents('note.md', 'saved')).toEqual(['by perl', 'one, two']);
    }),
    70_000,
  );

  test(
    'what one process of a harness read, another of it knows: its unlink leaves a newer head',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      const path = `${folder}/note.md`;
      await stage.sh('echo known >"$1"', path);
      const agent = await stage.agent();
      expect(await program(agent, 'cat "$1"', path)).toBe('known\n');
      await stage.sh('echo newer >"$1"', path);
      await program(agent, 'rm "$1"', path);
      expect(await stage.sh('cat "$1"', path)).toBe('newer\n');
      expect(await read(agent, path)).toBe('newer\n');
      expect(await stage.kinds('note.md')).toEqual(['saved', 'saved']);
      // Now it knows what it removes.
      await program(agent, 'rm "$1"', path);
      expect(await stage.sh('ls -A "$1"', folder)).toBe('');
      expect(await stage.kinds('note.md')).toEqual(['removed', 'saved', 'saved']);
      await stage.mend(['memory', 'show', 'note.md'], { status: 1 });
      expect(await stage.show('note.md', 2)).toBe('newer\n');
    }),
    70_000,
  );
});

test(
  'a note that another mount puts aside under a local name: who has it open goes on, and what is written is a version',
  staged(40, async (stage) => {
    const home = join(stage.user.home, 'second');
    await stage.sh('mkdir "$1"', home);
    const [folder, other] = [await stage.mount(), await stage.mount({ home })];
    await stage.sh('echo old text >"$1/note.md"', folder);
    const agent = await stage.agent();
    await agent.run((fs, own, path) => {
      own['fd'] = fs.openSync(path, 'r+');
      own['reader'] = fs.openSync(path, 'r');
    }, `${other}/note.md`);
    // As an editor does that keeps a backup.
    await stage.sh('cd "$1"; mv note.md note.md~; echo new text >note.md', folder);
    const seen = await agent.run((fs, own) => {
      const fd = own['fd'] ?? -1;
      fs.writeSync(fd, 'OLD', 0);
      fs.ftruncateSync(fd, 6);
      fs.closeSync(fd);
      return fs.readFileSync(own['reader'] ?? -1, 'utf8');
    });
    expect(seen).toBe('old text\n');
    expect(await stage.sh('cd "$1"; cat note.md note.md~; ls "$2"', folder, other)).toBe(
      'new text\nold text\nnote.md\n',
    );
    expect(await stage.contents('note.md', 'conflict')).toEqual(['OLD te']);
  }),
  70_000,
);

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

describe('history', () => {
  test(
    'appends of two sessions in turn are all there, each a version, and the time rises with each',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      const path = `${folder}/note.md`;
      const agents = [await stage.agent(), await stage.agent()];
      let [text, last] = ['', 0];
      for (let round = 0; round < 12; round++) {
        const agent = agents[round % 2] as Agent;
        await program(agent, `echo "line ${round}" >>"$1"`, path);
        text += `line ${round}\n`;
        const times: number[] = [];
        for (const each of agents) {
          const [content, time] = await each.run(
            (fs, _, file) => [fs.readFileSync(file, 'utf8'), fs.statSync(file).mtimeMs] as const,
            path,
          );
          expect(content).toBe(text);
          times.push(time);
        }
        expect(times[0]).toBe(times[1]);
        expect(times[0]).toBeGreaterThan(last);
        last = times[0] ?? 0;
      }
      expect(await stage.kinds('note.md')).toEqual(Array.from({ length: 12 }, () => 'saved'));
    }),
    70_000,
  );

  test(
    'the head and the twenty versions before it are kept, oldest dropped first; a removed file keeps its own',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      await stage.sh('for i in $(seq 25); do echo "text $i" >"$1/note.md"; done; echo other >"$1/other.md"', folder);
      const log = await stage.log('note.md');
      expect(log.map(({ version }) => version)).toEqual(Array.from({ length: 21 }, (_, index) => 25 - index));
      expect(await stage.show('note.md', 5)).toBe('text 5\n');
      await stage.mend(['memory', 'show', 'note.md', '--version', '4'], { status: 1 });
      // A save that changes nothing is no version.
      await stage.sh('echo "text 25" >"$1/note.md"', folder);
      expect((await stage.log('note.md'))[0]?.version).toBe(25);
      await stage.sh('rm "$1/note.md"', folder);
      expect((await stage.kinds('note.md')).slice(0, 2)).toEqual(['removed', 'saved']);
      expect(await stage.show('note.md', 25)).toBe('text 25\n');
      expect(await stage.kinds('other.md')).toEqual(['saved']);
    }),
    70_000,
  );

  test(
    'a temporary leaves no trace, whatever its name; a rename takes the history along',
    staged(40, async (stage) => {
      const folder = await stage.mount();
      const script = `cd "$1"; echo one >note.md; mkdir sub
        echo two >note.md.tmp.1.0123456789ab; mv note.md.tmp.1.0123456789ab note.md
        echo three >next.md; mv next.md note.md
        echo four >sub/next.md; mv sub/next.md note.md`;
      await stage.sh(script, folder);
      expect(await stage.sh('cd "$1"; cat note.md; ls -A', folder)).toBe('four\nnote.md\nsub\n');
      expect((await stage.log()).map(({ file, kind }) => `${file} ${kind}`)).toEqual(Array(4).fill('note.md saved'));
      await stage.sh('cd "$1"; mv note.md sub/moved.md; mv sub renamed; echo five >renamed/moved.md', folder);
      expect(new Set((await stage.log()).map(({ file }) => file))).toEqual(new Set(['renamed/moved.md']));
      expect(await stage.contents('renamed/moved.md', 'saved')).toEqual([
        'five\n',
        'four\n',
        'three\n',
        'two\n',
        'one\n',
      ]);
      // A note with a past of its own that replaces another keeps it.
      await stage.sh('cd "$1"; echo a >a.md', folder);
      const agent = await stage.agent();
      await program(agent, 'cd "$1"; echo b >a.md; mv a.md renamed/moved.md', folder);
      expect(await stage.contents('renamed/moved.md', 'saved')).toEqual([
        'b\n',
        'five\n',
        'four\n',
        'three\n',
        'two\n',
        'one\n',
      ]);
      expect(await stage.kinds('a.md')).toEqual(['removed', 'saved', 'saved']);
    }),
    70_000,
  );
});
