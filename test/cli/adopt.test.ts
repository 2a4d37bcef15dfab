import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { expectRefusal, memoryFolder, Person, until } from './person.js';

let person: Person;

beforeEach(async () => {
  person = await Person.make('a-b');
});

afterEach(() => person.remove());

/** What `adopt` fails with, also as a document. */
async function refused(sentence: RegExp, cwd = person.repository): Promise<void> {
  expectRefusal(await person.mend(['adopt'], { cwd }), 1, sentence);
  const { code, stdout, stderr } = await person.mend(['adopt', '--json'], { cwd });
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(JSON.parse(stdout)).toEqual([
    { harness: 'claude', folder: person.memory, files: null, live: false, fault: expect.stringMatching(sentence) },
  ]);
}

describe('adopt says what is wrong with a memory folder', () => {
  test('below a closed folder', async () => {
    await person.shell('mkdir -p "$M"; echo x > "$M/a.md"; chmod 0 .claude');
    await refused(/the memory folder \S+\/memory cannot be reached \(EACCES\): check who owns it/);
    await person.shell('chmod 700 .claude');
  });

  test('that cannot be read', async () => {
    await person.shell('mkdir -p "$M"; echo x > "$M/a.md"; chmod 0 "$M"');
    await refused(
      /the memory folder \S+\/memory cannot be read \(EACCES\): make it one that you may read, as with chmod /,
    );
    await person.shell('chmod 700 "$M"');
  });

  test('that is a symbolic link', async () => {
    await person.shell('mkdir -p real "$(dirname "$M")"; echo x > real/a.md; ln -s ~/real "$M"');
    await refused(/\/memory is a symbolic link: put a folder in its place/);
  });

  test('that is a file', async () => {
    await person.shell('mkdir -p "$(dirname "$M")"; touch "$M"');
    await refused(/\/memory is not a folder: move it away/);
  });

  test('whose daemon died', async () => {
    await person.shell('mkdir -p "$M"; echo x > "$M/a.md"');
    await person.done('mount');
    // The supervisor first: it would start another server.
    for (const pid of person.processes()) process.kill(pid, 'SIGKILL');
    await until(() => person.processes().length === 0);
    await refused(/\/memory has lost the daemon that served it: run "mend mount /);
  });

  test('that holds the memory of another project', async () => {
    const nested = join(person.user.home, 'a/b');
    await person.shell('git init --quiet a/b; mkdir -p "$M"; printf dashed > "$M/note.md"');
    expect(memoryFolder(person.user.home, nested)).toBe(person.memory);
    for (const step of ['mount', 'unmount']) {
      await person.done(step);
      await refused(/is that of \S+\/a-b, too, which belongs to project "a-b", .* run "mend project link a-b /, nested);
      expect(await person.done('adopt')).toContain('Claude Code keeps 1 memory file for this repository');
    }
  });
});

test('adopt tells of what an import would leave out, and makes no store', async () => {
  await person.shell('mkdir -p "$M"; cd "$M"; echo x > a.md; ln -s /etc/passwd b.md; mkfifo c.md');
  expect(await person.done('adopt')).toMatch(
    /^Claude Code keeps 1 memory file [^\n]*\n[^\n]*\n {2}2 entries would be left out: "mend memory import --dry-run" says why\n$/,
  );
  expect(await person.shell('ls -A "$S" || echo none')).toBe('none\n');
});
