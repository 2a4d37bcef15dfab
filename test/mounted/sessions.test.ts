import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { begin, end, program, read } from './agent-work.js';
import { staged, until } from './stage.js';

/** The POSIX session of a process: proc_pid_stat(5), field 6. */
function posixSession(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3];
}

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
