import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { projectSlug } from '../../src/harness/project-slug.js';
import { examined, expectAmong } from './doctor.js';
import { NotesPerson, note } from './notes-person.js';
import { expectRefusal } from './person.js';

let me: NotesPerson;

beforeEach(async () => {
  me = await NotesPerson.make();
});

afterEach(() => me.person.remove());

const mode = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

/** What an agent does that follows the convention: the folders and the note are made private, and that is looked at. */
const CREATE = `
  slug=$(basename "$R" | tr -c 'A-Za-z0-9._\\n-' '-')-$(printf %s "$R" | sha256sum | cut -c1-12)
  cd ~/.codex/memory
  mkdir -p -m 700 "projects/$slug" "archive/$slug"
  printf '%s\\n' '# Project memory' '' "Project: $R" 'Updated: 2026-01-01' '' '## Durable decisions' '- Tabs' > "projects/$slug/memory.md"
  chmod 600 "projects/$slug/memory.md"
  stat -c %a "projects/$slug" "archive/$slug" "projects/$slug/memory.md"
  grep '^Project:' "projects/$slug/memory.md"`;

describe('an agent with a shell', { timeout: 180_000 }, () => {
  test('creates, recalls, merges, forgets and brings back on the mounted folders', async () => {
    await me.person.done('mount', '--harness', 'project-memory');
    expect(me.person.mounts().sort()).toEqual([me.archive, me.notes].sort());
    expect(await me.shell(CREATE)).toBe(`700\n700\n600\nProject: ${me.repository}\n`);
    expect(await me.listed()).toEqual(['project-memory:memory.md']);

    // Recall, verify, and write the merged note beside the old one.
    await me.shell(`grep -Fqx "Project: $R" "$N/memory.md"
      { cat "$N/memory.md"; echo '- Spaces in YAML'; } > "$N/memory.md.tmp"; chmod 600 "$N/memory.md.tmp"
      mv "$N/memory.md.tmp" "$N/memory.md"`);
    expect(await me.person.done('memory', 'show', 'project-memory:memory.md')).toMatch(/- Tabs\n- Spaces in YAML\n$/);

    // Forget: the folders are two mounts, so mv copies and removes.
    await me.shell('mv "$N/memory.md" "$A/memory-20260102T030405Z.md"; stat -c %a "$A"/*; test ! -e "$N/memory.md"');
    expect(await me.listed()).toEqual(['project-memory-archive:memory-20260102T030405Z.md']);
    await me.shell('mv "$A/memory-20260102T030405Z.md" "$N/memory.md"; grep -q Spaces "$N/memory.md"');
    expect(await me.listed()).toEqual(['project-memory:memory.md']);

    await me.person.rest();
    expect(await me.shell('ls "$N" "$A"; cat "$N/memory.md"')).toMatch(/- Spaces in YAML\n$/);
    expect([mode(me.notes), mode(me.archive), mode(join(me.notes, 'memory.md'))]).toEqual(['700', '700', '600']);
  });

  test('has a folder of another spelling, and the mount goes over that', async () => {
    const own = `${projectSlug(me.repository).replace(/^[^-]*/, 'The-Garden')}`;
    await me.lay(note(me.repository, 'Tabs'));
    await me.shell(`mv "$N" ~/.codex/memory/projects/${own}`);
    await me.person.done('mount');
    expect(me.person.mounts()).toContain(join(me.root, 'projects', own));
    expect(me.person.mounts()).toContain(join(me.root, 'archive', own));
    expect(existsSync(me.notes)).toBe(false);
    await me.person.done('unmount');
    await me.shell('mkdir "$N"');
    const sentence = /projects\/The-Garden-.* and .* are both for .*: put what they hold together in one of them/;
    await me.refused(['mount'], sentence);
    await me.refused(['memory', 'import'], sentence);
    expect((await me.person.mend(['doctor'])).stdout).toMatch(/The-Garden-\S+ and \S+ are both for/);
  });

  test('finds modes as the convention wants them, whatever they were', async () => {
    await me.lay(note(me.repository, 'Tabs'));
    await me.shell('chmod 755 "$N"; chmod 644 "$N/memory.md"');
    await me.person.done('mount');
    expect(await me.shell('stat -c %a "$N" "$N/memory.md"')).toBe('700\n600\n');
    await me.shell(
      'chmod 777 "$N/memory.md"; echo "- More" >> "$N/memory.md"; mkdir "$N/deep"; echo x > "$N/deep/x.md"',
    );
    await me.person.rest();
    const [deep, file] = [join(me.notes, 'deep'), join(me.notes, 'memory.md')];
    expect([me.notes, file, deep, join(deep, 'x.md')].map(mode)).toEqual(['700', '600', '700', '600']);
  });
});

describe('somebody who does not use it', { timeout: 180_000 }, () => {
  test('sees nothing of it', async () => {
    await me.shell('mkdir -p ~/.codex/memories');
    const before = me.person.snapshot().filter((line) => line.includes('.codex'));
    const outputs = [
      await me.person.done('adopt'),
      await me.person.done('memory', 'import'),
      await me.person.done('mount'),
    ];
    await me.shell(`echo a > '${me.person.memory}/MEMORY.md'`);
    for (const args of [['memory'], ['status'], ['mount', '--all'], ['unmount'], ['memory', 'import', '--dry-run']])
      outputs.push(await me.person.done(...args));
    outputs.push((await me.person.mend(['doctor'])).stdout);
    expect(outputs.join('')).not.toContain('project-memory');
    expect(me.person.snapshot().filter((line) => line.includes('.codex'))).toEqual(before);
  });

  test('has it when a setting or an option says so', async () => {
    await me.shell('mkdir -p ~/.config/mend; echo "harnesses: [project-memory]" > ~/.config/mend/config.yaml');
    await me.person.done('mount');
    expect(me.person.mounts().sort()).toEqual([me.archive, me.notes].sort());
    expect(mode(me.root)).toBe('700');
    await me.person.done('unmount', '--harness', 'project-memory');
    expect(me.person.mounts()).toEqual([]);
    await me.shell('echo "harnesses: [project-memory-archive]" > ~/.config/mend/config.yaml');
    expectRefusal(await me.person.mend(['mount']), 1, /"harnesses" must be a list such as \[claude\]/);
  });
});

describe('a folder of the convention', { timeout: 180_000 }, () => {
  test('that cannot be used is named once by mount and doctor, however many projects have notes in it', async () => {
    const other = join(me.person.user.home, 'kitchen');
    await me.person.user.run(['git', 'init', '--quiet', other]);
    await me.lay(note(me.repository, 'Tabs'));
    await me.shell('umask 077; mkdir -p "$K"; printf %s "$T" >"$K/memory.md"', {
      K: me.folderOf(other),
      T: note(other, 'Spaces'),
    });
    for (const cwd of [me.repository, other])
      expect(await me.person.mend(['mount'], { cwd })).toMatchObject({ code: 0 });
    await me.person.done('unmount', '--all');
    for (const [script, what] of [
      [`chmod 000 "${me.root}"`, /\.codex\/memory, which cannot be entered/],
      [
        `chmod 700 "${me.root}"; mv "${me.root}" "$HOME/kept"; echo >"${me.root}"`,
        /\.codex\/memory, which is not a folder/,
      ],
    ] as const) {
      await me.shell(script);
      expectAmong(
        await examined(me.person),
        new RegExp(`^problem memory-folders: memory folders lie below \\S+${what.source}`),
      );
      const mount = await me.person.mend(['mount']);
      expect(mount.code).toBe(3);
      expect(mount.stderr).toMatch(/^mend: cannot mount below \S+memory: it [^\n]+\n$/);
      await me.person.done('unmount', '--all');
    }
  });

  test('of a checkout whose name ends in a blank has its note by a line that does, too', async () => {
    const blank = await NotesPerson.make('gar den ');
    try {
      expect(blank.repository).toMatch(/gar den $/);
      await blank.lay(note(blank.repository, 'Tabs'));
      await blank.person.done('mount');
      expect(await blank.listed()).toEqual(['project-memory:memory.md']);
      expect(await blank.shell('grep -Fx "Project: $R" "$N/memory.md"')).toBe(`Project: ${blank.repository}\n`);
    } finally {
      await blank.person.remove();
    }
  });
});

describe('removing', { timeout: 180_000 }, () => {
  beforeEach(async () => {
    await me.lay(note(me.repository, 'Tabs'));
    await me.person.done('memory', 'import');
  });

  test('moves the note to the archive with a timestamp, and restore brings it back', async () => {
    await me.person.done('mount');
    const said = await me.person.done('memory', 'rm', 'project-memory:memory.md');
    expect(said).toMatch(/^moved project-memory:memory.md to project-memory-archive:memory-\d{8}T\d{6}Z\.md\n$/);
    const [archived = ''] = await me.listed();
    expect(said).toContain(archived);
    const file = join(me.archive, archived.split(':')[1] ?? '');
    expect(await me.shell('ls "$N"; stat -c %a "$F"; cat "$F"', { F: file })).toBe(
      `600\n${note(me.repository, 'Tabs')}`,
    );

    await me.person.rest();
    expect(await me.shell('ls "$N"; cat "$F"', { F: file })).toBe(note(me.repository, 'Tabs'));
    expect(mode(file)).toBe('600');
    const back = await me.person.done('memory', 'restore', 'project-memory:memory.md', '--version', '1');
    expect(back).toBe(`restored version 1 of project-memory:memory.md from ${archived}\n`);
    expect(await me.listed()).toEqual(['project-memory:memory.md']);
    await me.person.done('mount');
    expect(await me.shell('ls "$A"; cat "$N/memory.md"')).toBe(note(me.repository, 'Tabs'));
  });

  test('twice in one second keeps both, and takes nothing that others put there', async () => {
    await me.person.done('mount');
    await me.shell('cp "$N/memory.md" "$A/kept.md"');
    await me.person.done('memory', 'rm', 'project-memory:memory.md');
    await me.shell('printf "Project: %s\\n" "$R" > "$N/memory.md"');
    await me.person.done('memory', 'rm', 'project-memory:memory.md');
    expect((await me.listed()).length).toBe(3);
    await me.person.done('memory', 'restore', 'project-memory:memory.md', '--version', '1');
    const left = await me.listed();
    expect(left).toHaveLength(3);
    expect(left).toContain('project-memory-archive:kept.md');
  });

  test('is final with purge alone, which has to be told the exact name', async () => {
    const archived = (await me.person.done('memory', 'rm', 'project-memory:memory.md')).trim().split(' to ')[1] ?? '';
    expectRefusal(await me.person.mend(['memory', 'purge', archived]), 2, /--confirm/);
    const wrong = await me.person.mend(['memory', 'purge', archived, '--confirm', archived.split(':')[1] ?? '']);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(await me.listed()).toEqual([archived]);
    const kept = await me.person.mend(['memory', 'purge', archived, '--confirm', archived]);
    // The history of the note has the same bytes.
    expect(kept).toMatchObject({ code: 3 });
    expect(kept.stderr).toContain('the history of project-memory:memory.md has the same bytes');
    const gone = await me.person.mend([
      'memory',
      'purge',
      'project-memory:memory.md',
      '--confirm',
      'project-memory:memory.md',
    ]);
    expect(gone).toMatchObject({ code: 0, stderr: '' });
    expect(await me.listed()).toEqual([]);
    expect(existsSync(join(me.notes, 'memory.md'))).toBe(false);
  });
});
