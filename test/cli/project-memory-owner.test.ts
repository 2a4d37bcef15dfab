import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NotesPerson, note } from './notes-person.js';
import { expectRefusal, type MendOptions } from './person.js';

let me: NotesPerson;

beforeEach(async () => {
  me = await NotesPerson.make();
});

afterEach(() => me.person.remove());

const show = (options?: MendOptions) => me.person.mend(['memory', 'show', 'project-memory:memory.md'], options);

describe('a note that is not, by its line, one of this project', { timeout: 180_000 }, () => {
  test('is neither mounted over nor imported, and the commands that settle it work', async () => {
    const old = join(me.person.user.home, 'old-garden');
    const text = note(old, 'Tabs');
    await me.lay(text);
    const known = 'is not known as a checkout of project "garden": if it is one, or was, run';
    const host = (await me.shell('hostname')).trim();
    const link = `mend project link --machine ${host} garden ${old}`;
    const sentence = new RegExp(`memory.md in it says "Project: ${old}", which ${known} "${link}"`);
    const mounted = await me.person.mend(['mount']);
    expect(mounted).toMatchObject({ code: 3 });
    expect(mounted.stderr).toMatch(sentence);
    expect(me.person.mounts()).not.toContain(me.notes);
    expect(await me.shell('cat "$N/memory.md"')).toBe(text);
    await me.person.done('unmount', '--all');

    for (const args of [['--dry-run'], []]) {
      const refused = await me.person.mend(['memory', 'import', ...args]);
      expect(refused.code).toBe(3);
      expect(refused.stdout).toContain(
        `skipped    project-memory:memory.md: it says "Project: ${old}", which ${known}`,
      );
    }
    expect(await me.listed()).toEqual([]);

    // It was moved: the old path is known from now on, and an agent finds its own line beside it.
    await me.person.done('project', 'link', '--machine', host, 'garden', old);
    await me.person.done('mount');
    expect(await me.shell('cat "$N/memory.md"')).toBe(text.replace(old, `${old}\nProject: ${me.repository}`));
    await me.shell('grep -Fqx "Project: $R" "$N/memory.md"');
    expect(await me.person.done('memory', 'log', 'project-memory:memory.md')).toMatch(/saved .* mend mount/);
  });

  test('is refused for good when it is one of another project', async () => {
    const other = join(me.person.user.home, 'orchard');
    await me.shell(`git init --quiet '${other}'`);
    await me.person.mend(['mount'], { cwd: other });
    await me.lay(note(other, 'Tabs'));
    const sentence = new RegExp(
      `says "Project: ${other}", which is a checkout of project "orchard", not of "garden": move the note away, or correct that line`,
    );
    expect((await me.person.mend(['mount'])).stderr).toMatch(sentence);
    expect((await me.person.mend(['memory', 'import'])).stdout).toMatch(sentence);
    // Two lines are as good as the worse of them.
    await me.lay(note(`${me.repository}\nProject: ${other}`, 'Tabs'));
    expect((await me.person.mend(['memory', 'import'])).stdout).toMatch(sentence);
    expect(await me.listed()).toEqual([]);
  });

  test('is refused without a line, and a line in a section below is none', async () => {
    await me.lay(`# Project memory\n\n## Notes\nProject: ${me.repository}\n`);
    const sentence =
      /has no line "Project: <path>" that says which checkout it is of, .* project "garden": add the line/;
    expect((await me.person.mend(['mount'])).stderr).toMatch(sentence);
    expect((await me.person.mend(['memory', 'import'])).stdout).toMatch(sentence);
  });

  test('is pointed out when an agent saved it on the mount', async () => {
    await me.lay(note(me.repository, 'Tabs'));
    await me.person.done('mount');
    await me.shell('sed -i "s,^Project: .*,Project: /nowhere/else," "$N/memory.md"; echo loose > "$N/loose.md"');
    const listed = await me.person.mend(['memory']);
    expect(listed.code).toBe(0);
    expect(listed.stdout).toContain('not by its words a note of this project');
    expect(listed.stderr).toMatch(/project-memory:memory.md says "Project: \/nowhere\/else", which is not known/);
    expect(listed.stderr).not.toContain('loose.md');
    // It is what memory holds, so nothing stands between it and the next mount.
    await me.person.rest();
    await me.person.done('mount');
    expect(await me.shell('grep "^Project:" "$N/memory.md"')).toBe('Project: /nowhere/else\n');
  });

  test('is not merged from another machine until that path is known there', async () => {
    await me.lay(note(me.repository, 'Tabs'));
    await me.person.done('memory', 'import');
    const copy = join(me.person.user.home, 'copy');
    await me.shell('mkdir "$C"; printf %s "$T" > "$C/memory.md"', { C: copy, T: note('/srv/garden', 'Tabs', 'Make') });
    const args = ['memory', 'import', '--harness', 'project-memory', '--from', copy, '--machine', 'laptop'];
    const refused = await me.person.mend(args);
    expect(refused).toMatchObject({ code: 3, stderr: '' });
    expect(refused.stdout).toContain('run "mend project link --machine laptop garden /srv/garden"');
    expect((await show()).stdout).toBe(note(me.repository, 'Tabs'));
    const linked = await me.person.done('project', 'link', '--machine', 'laptop', 'garden', '/srv/garden');
    expect(linked).toBe('/srv/garden on laptop is known as a checkout of project "garden" now\n');
    expect(await me.person.done(...args)).toMatch(/^merged {5}project-memory:memory.md\n/);
    const { stdout } = await show();
    for (const line of [`Project: ${me.repository}`, 'Project: /srv/garden', '- Tabs', '- Make'])
      expect(stdout.split('\n')).toContain(line);
    expect(await me.person.done(...args)).toMatch(/^kept {7}project-memory:memory.md\n/);
  });

  test('the path of another machine has to be one', async () => {
    await me.person.done('mount');
    const link = (...args: string[]) => me.person.mend(['project', 'link', '--machine', ...args]);
    expectRefusal(await link('laptop', 'garden'), 2, /--machine needs the absolute path/);
    expectRefusal(await link('laptop', 'garden', 'srv/garden'), 2, /--machine needs the absolute path/);
    expectRefusal(await link('', 'garden', '/srv/garden'), 2, /the machine no name/);
    expectRefusal(await link('laptop', 'nobody', '/srv/garden'), 1, /there is no project "nobody"/);
    const host = (await me.shell('hostname')).trim();
    expectRefusal(await link(host, 'garden', '/usr'), 1, /is a folder of this machine: leave out --machine/);
  });
});

describe('an archived note', { timeout: 180_000 }, () => {
  test('needs no line, and is refused with that of another project', async () => {
    const other = join(me.person.user.home, 'orchard');
    await me.shell(
      `git init --quiet '${other}'; mkdir -p "$N" "$A"; echo old > "$A/old.md"; printf %s "$T" > "$A/new.md"`,
      {
        T: note(other),
      },
    );
    await me.person.mend(['mount'], { cwd: other });
    const imported = await me.person.mend(['memory', 'import']);
    expect(imported.code).toBe(3);
    expect(imported.stdout).toMatch(/^added {6}project-memory-archive:old.md$/m);
    expect(imported.stdout).toMatch(/^skipped {4}project-memory-archive:new.md: it says "Project: /m);
  });
});

describe('a second checkout', { timeout: 180_000 }, () => {
  test('has the same note, with a line of its own', async () => {
    const second = join(me.person.user.home, 'second');
    await me.shell(`git -C "$R" remote add origin https://example.org/a/garden; git init --quiet '${second}'
      git -C '${second}' remote add origin git@example.org:a/garden.git`);
    await me.lay(note(me.repository, 'Tabs'));
    await me.person.done('mount');
    expect(await me.person.mend(['mount'], { cwd: second })).toMatchObject({ code: 0, stderr: '' });
    const there = me.folderOf(second);
    const both = note(`${me.repository}\nProject: ${second}`, 'Tabs');
    expect(await me.shell('cat "$S/memory.md"', { S: there })).toBe(both);
    expect(await me.shell('cat "$N/memory.md"')).toBe(both);
    // An agent that writes the note anew there leaves the other's line out; the next mount adds it.
    await me.shell(
      'grep -Fvx "Project: $R" "$S/memory.md" > "$S/memory.md.tmp"; mv "$S/memory.md.tmp" "$S/memory.md"',
      {
        S: there,
      },
    );
    expect(await me.shell('cat "$N/memory.md"')).toBe(note(second, 'Tabs'));
    await me.person.done('mount');
    expect(await me.shell('cat "$S/memory.md"', { S: there })).toBe(
      note(`${second}\nProject: ${me.repository}`, 'Tabs'),
    );
    await me.person.rest();
    expect(await me.shell('cmp "$N/memory.md" "$S/memory.md"', { S: there })).toBe('');
    // Nothing is new to the next mounts.
    expect(await me.person.done('mount', '--all')).not.toContain('took in');
  });
});
