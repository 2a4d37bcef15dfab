import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NotesPerson, note } from './notes-person.js';

let me: NotesPerson;

/** Claude Code's memory and a note, with an archived one: three folders of one project. */
beforeEach(async () => {
  me = await NotesPerson.make();
  await me.lay(note(me.repository, 'Tabs'));
  await me.shell(
    'umask 077; mkdir -p "$A" "$M"; printf old > "$A/old.md"; printf -- "- [Roses](roses.md)\\n" > "$M/MEMORY.md"',
    {
      M: me.person.memory,
    },
  );
});

afterEach(() => me.person.remove());

const NOTE = 'project-memory:memory.md';
const OLD = 'project-memory-archive:old.md';

describe('commands for one project with several harnesses', { timeout: 240_000 }, () => {
  test('adopt, import, list, and what each warns of', async () => {
    const { person } = me;
    const adopted = await person.json<{ harness: string; files: number }[]>('adopt');
    expect(adopted.filter(({ files }) => files > 0).map(({ harness }) => harness)).toEqual([
      ...['claude', 'project-memory', 'project-memory-archive'],
    ]);
    const imported = await person.json<{ harness: string; file: string; outcome: string }[]>('memory', 'import');
    expect(imported.map(({ harness, file, outcome }) => `${harness} ${file} ${outcome}`)).toEqual([
      ...['claude MEMORY.md added', 'project-memory memory.md added', 'project-memory-archive old.md added'],
    ]);
    const listed = await person.mend(['memory']);
    expect(listed.stdout).toMatch(/^claude +MEMORY\.md /m);
    expect(listed.stdout).toMatch(/^project-memory +project-memory:memory\.md /m);
    expect(listed.stdout).toMatch(/^project-memory-archive +project-memory-archive:old\.md /m);
    // The warnings of an index are for the harness that has one.
    expect(listed.stderr).toMatch(/^mend: MEMORY\.md links to roses\.md \(line 1\)/m);
    expect(listed.stderr.trim().split('\n')).toHaveLength(1);
    const doctor = await person.mend(['doctor']);
    for (const title of ['Claude Code, 1 file', 'project-memory, 1 file', 'the archive of project-memory, 1 file'])
      expect(doctor.stdout).toContain(`this repository has memory that is not mounted (${title})`);
  });

  test('names with and without the harness, in every command that takes one', async () => {
    const { person } = me;
    await person.done('mount');
    expect(person.mounts().sort()).toEqual([person.memory, me.archive, me.notes].sort());
    // A file of Claude Code that is called as one of another harness.
    await me.shell('printf mine > "$M/$F"; printf own > "$M/memory.md"', { M: person.memory, F: NOTE });
    const show = (file: string) => person.done('memory', 'show', file);
    expect(await show('memory.md')).toBe('own');
    expect(await show('claude:memory.md')).toBe('own');
    expect(await show(NOTE)).toBe(note(me.repository, 'Tabs'));
    expect(await show(`claude:${NOTE}`)).toBe('mine');
    expect(await show(OLD)).toBe('old');

    await me.shell('echo "- Lupins" >> "$N/memory.md"');
    expect(await person.done('memory', 'diff', NOTE)).toMatch(/^\+- Lupins$/m);
    expect(await person.done('memory', 'log', NOTE)).toMatch(/^project-memory:memory\.md +2 /m);
    expect(await person.done('memory', 'log')).toContain('claude:project-memory:memory.md');
    expect(await person.done('memory', 'search', 'lupins')).toMatch(/^project-memory:memory\.md$/m);
    const found = await person.json<{ harness: string; file: string }[]>('memory', 'search', 'lupins');
    expect(found).toMatchObject([{ harness: 'project-memory', file: 'memory.md' }]);
    expect(await person.done('memory', 'restore', NOTE, '--version', '1')).toBe(`restored version 1 of ${NOTE}\n`);
    expect(await person.done('memory', 'rm', `claude:${NOTE}`, 'memory.md', OLD)).toBe(
      `removed claude:${NOTE}\nremoved memory.md\nremoved ${OLD}\n`,
    );
    expect(await me.shell('ls "$M" "$A" "$N"', { M: person.memory })).toBe(
      `${person.memory}:\nMEMORY.md\n\n${me.archive}:\n\n${me.notes}:\nmemory.md\n`,
    );
    const purged = await person.mend(['memory', 'purge', OLD, '--confirm', OLD]);
    expect(purged).toMatchObject({ code: 0, stderr: '' });
    await person.rest();
    expect(await me.shell('ls "$A"')).toBe('');
  });

  test('completion offers every file by its name, and the harnesses', async () => {
    const { person } = me;
    await person.done('memory', 'import');
    const complete = async (...words: string[]): Promise<string[]> => {
      const { stdout } = await person.mend(['__complete', 'zsh', '--', ...words]);
      return stdout.split('\n').map((line) => line.split('\t')[0] ?? '');
    };
    expect(await complete('memory', 'show', '')).toEqual(expect.arrayContaining(['MEMORY.md', NOTE, OLD]));
    expect(await complete('memory', 'restore', NOTE, '--version', '')).toContain('1');
    expect(await complete('mount', '--harness', '')).toEqual(expect.arrayContaining(['claude', 'project-memory']));
  });

  test('an export has each harness in a folder of its own, and comes back from there', async () => {
    const { person } = me;
    await person.done('memory', 'import');
    const target = join(person.user.home, 'export');
    await person.done('memory', 'export', target);
    expect(await me.shell('cd "$T"; find . -type f | sort', { T: target })).toBe(
      './MEMORY.md\n./project-memory-archive/old.md\n./project-memory/memory.md\n',
    );
    // Into another store, as on a new machine.
    const env = { MEND_STORE_DIR: join(person.user.home, 'fresh') };
    const args = ['memory', 'import', '--from', target, '--machine', 'laptop', '--json'];
    const result = await person.mend(args, { env });
    const rows = JSON.parse(result.stdout) as { harness: string; file: string; outcome: string }[];
    expect(rows.map(({ harness, file, outcome }) => `${harness} ${file} ${outcome}`)).toEqual([
      ...['claude MEMORY.md added', 'project-memory memory.md added', 'project-memory-archive old.md added'],
    ]);
    const alone = await person.mend([...args, '--harness', 'project-memory'], { env });
    expect(
      (JSON.parse(alone.stdout) as { harness: string; outcome: string }[]).map(
        ({ harness, outcome }) => `${harness} ${outcome}`,
      ),
    ).toEqual([...['project-memory same', 'project-memory-archive same']]);
  });

  test('unmount and status are of all of them, or of the one that is named', async () => {
    const { person } = me;
    await person.done('mount');
    const { mounts } = await person.json<{ mounts: { harness: string; files: number }[] }>('status');
    expect(mounts.map(({ harness }) => harness).sort()).toEqual([
      ...['claude', 'project-memory', 'project-memory-archive'],
    ]);
    await person.done('unmount', '--harness', 'claude');
    expect(person.mounts().sort()).toEqual([me.archive, me.notes].sort());
    await person.done('mount', '--harness', 'claude');
    await person.done('unmount');
    expect(person.mounts()).toEqual([]);
    // One that cannot be mounted keeps nobody from the others.
    await me.shell('mv "$N" "$N.away"; echo > "$N"');
    const partly = await person.mend(['mount']);
    expect(partly.code).not.toBe(0);
    expect(partly.stderr).toMatch(/is not a folder/);
  });
});
