import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { programFolder } from '../support/program.js';
import { expectRefusal, Person } from './person.js';

interface Row {
  harness: string;
  file: string;
  outcome: string;
  lines_lost: number;
  reason: string | null;
}

let person: Person;

beforeEach(async () => {
  person = await Person.make();
});

afterEach(async () => {
  await person.remove();
});

/** Hashes of the store's files but the index in shared memory; empty where there is no store. */
function storeBytes(): Record<string, string> {
  let names: string[] = [];
  try {
    names = readdirSync(person.store);
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOENT' });
  }
  return Object.fromEntries(
    names
      .filter((name) => name.startsWith('store.db') && !name.endsWith('-shm'))
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(person.store, name)))
          .digest('hex'),
      ]),
  );
}

/** The same, once the daemon has moved its log into the file and there is nothing more to do. */
async function settledBytes(): Promise<Record<string, string>> {
  for (let last = storeBytes(); ; ) {
    await delay(1500);
    const now = storeBytes();
    if (JSON.stringify(now) === JSON.stringify(last)) return now;
    last = now;
  }
}

const lay = (script: string) => person.shell(`mkdir -p "$M"; cd "$M"; ${script}`);

describe('import', () => {
  test('tells each file and the sum; the second time everything is the same', async () => {
    await lay(`printf 'one\\n' > a.md; mkdir sub; printf 'two\\n' > 'sub/b c.md'`);
    expect(await person.done('memory', 'import')).toBe(
      `added      a.md\nadded      "sub/b c.md"\nClaude Code, ${person.memory}: 2 added\n`,
    );
    expect(await person.done('memory', 'import')).toBe(`Claude Code, ${person.memory}: 2 the same\n`);
    expect(await person.done('memory', 'show', 'sub/b c.md')).toBe('two\n');
    expect(await person.json<Row[]>('memory', 'import')).toEqual([
      { harness: 'claude', file: 'a.md', outcome: 'same', lines_lost: 0, reason: null },
      { harness: 'claude', file: 'sub/b c.md', outcome: 'same', lines_lost: 0, reason: null },
    ]);
  });

  test('what is left to settle is named, with status 3', async () => {
    await lay(`printf 'one\\0' > a.bin; printf 'fine\\n' > b.md; ln -s /etc/passwd link; mkfifo pipe`);
    const first = await person.mend(['memory', 'import']);
    expect(first).toMatchObject({ code: 3, stderr: '' });
    expect(first.stdout).toContain('skipped    link: it is a symbolic link\n');
    expect(first.stdout).toContain('skipped    pipe: it is not a regular file\n');
    const other = join(person.user.home, 'copy');
    await person.shell(`mkdir '${other}'; printf 'two\\0' > '${other}/a.bin'`);
    const second = await person.mend(['memory', 'import', '--from', other, '--machine', 'laptop']);
    expect(second).toMatchObject({ code: 3, stderr: '' });
    expect(second.stdout).toMatch(
      /^conflict {3}a\.bin: it cannot be merged: one of the two is not text; the store's stays/,
    );
    expect(JSON.parse((await person.mend(['memory', 'log', 'a.bin', '--json'])).stdout)).toMatchObject([
      { kind: 'conflict', machine: 'laptop' },
      { kind: 'imported' },
    ]);
  });

  test('reads memory that another session is at work on through a mount of its own', async () => {
    await person.done('mount');
    await person.shell(`printf 'one\\n' > "$M/a.md"`);
    const copy = join(person.user.home, 'copy');
    await person.shell(`mkdir '${copy}'; printf 'one\\ntwo\\n' > '${copy}/a.md'`);
    expect(await person.done('memory', 'import', '--from', copy, '--machine', 'laptop')).toBe(
      `merged     a.md\nClaude Code, ${copy}: 1 merged\n`,
    );
    expect(await person.shell(`cat "$M/a.md"`)).toBe('one\ntwo\n');
  });
});

describe('a store that another process holds', () => {
  test('leaves the files that could not be stored, each named, with status 3', async () => {
    await lay(`printf 'one\\n' > a.md; printf 'two\\n' > b.md`);
    await person.done('memory', 'import');
    await lay(`printf 'changed\\n' > a.md; printf 'changed\\n' > b.md`);
    const script = `import Database from 'better-sqlite3';
      const db = new Database(process.argv[1]);
      db.exec('BEGIN IMMEDIATE');
      console.log('held');
      setTimeout(() => db.exec('ROLLBACK'), 20_000);`;
    const args = ['--input-type=module', '-e', script, join(person.store, 'store.db')];
    const holder = person.user.spawn([process.execPath, ...args], { cwd: programFolder() });
    await once(holder.stdout ?? holder, 'data');
    const result = await person.mend(['memory', 'import']);
    const ended = once(holder, 'exit');
    holder.kill();
    await ended;
    expect(result).toMatchObject({ code: 3, stderr: '' });
    for (const name of ['a.md', 'b.md'])
      expect(result.stdout).toContain(
        `skipped    ${name}: it could not be stored, as another process holds mend's store: try again\n`,
      );
    expect(await person.done('memory', 'import')).toContain('2 updated');
  });
});

describe('a dry run', () => {
  test.each([false, true])(
    'prints what the import does, and writes nothing (mounted elsewhere: %s)',
    async (mounted) => {
      await lay(`printf 'one\\n' > a.md; printf 'b\\0' > b.bin`);
      if (mounted) await person.done('mount');
      else await person.done('memory', 'import');
      const copy = join(person.user.home, 'copy');
      await person.shell(
        `mkdir '${copy}'; cd '${copy}'; printf 'one\\nmore\\n' > a.md; printf 'B\\0' > b.bin; printf new > c.md; ln -s a.md l`,
      );
      const from = ['memory', 'import', '--from', copy, '--machine', 'laptop'];
      const before = await settledBytes();
      const dry = await person.mend([...from, '--dry-run']);
      const dryJson = await person.mend([...from, '--dry-run', '--json']);
      expect(storeBytes()).toEqual(before);
      expect(dry).toMatchObject({ code: 3, stderr: '' });
      expect(dry.stdout).toContain('1 added, 1 merged, 1 conflict, 1 skipped');
      const real = await person.mend(from);
      expect(real).toEqual(dry);
      expect(JSON.parse(dryJson.stdout).map((row: Row) => `${row.outcome} ${row.file}`)).toEqual([
        ...['merged a.md', 'conflict b.bin', 'added c.md', 'skipped l'],
      ]);
      expect(storeBytes()).not.toEqual(before);
    },
  );

  test('makes no store and no project', async () => {
    await lay(`printf 'one\\n' > a.md`);
    const dry = await person.done('memory', 'import', '--dry-run');
    expect(storeBytes()).toEqual({});
    expect(readdirSync(person.user.home)).not.toContain('.local');
    expect(await person.done('memory', 'import')).toBe(dry);
  });
});

describe('nothing to import', () => {
  test('a folder that is mounted is live already', async () => {
    await person.done('mount');
    await person.shell(`printf one > "$M/a.md"; mkdir "$M/sub"; printf two > "$M/sub/b.md"`);
    const live = `${person.memory} is mounted: its memory is live already\n`;
    expect(await person.done('memory', 'import')).toBe(live);
    expect(await person.done('memory', 'import', '--project', 'garden')).toBe(live);
    for (const folder of [person.memory, join(person.memory, 'sub')]) {
      const { stdout } = await person.mend(['memory', 'import', '--from', folder, '--machine', 'laptop']);
      expect(stdout).toBe(`${folder} is mounted: its memory is live already\n`);
    }
    expect(await person.json<unknown[]>('memory', 'log')).toHaveLength(2);
  });

  test('a mount that lost its daemon is not taken for live', async () => {
    await person.done('mount');
    // The supervisor first: it would start another server.
    for (const pid of person.processes()) process.kill(pid, 'SIGKILL');
    expectRefusal(await person.mend(['memory', 'import']), 1, /has lost the daemon that served it: run "mend mount /);
  });

  test('an empty folder, and no store is made for it', async () => {
    await lay('true');
    expect(await person.done('memory', 'import')).toBe(`${person.memory} holds no memory files\n`);
    expect(storeBytes()).toEqual({});
  });

  test('a checkout that is gone is named, with status 3', async () => {
    await lay('printf one > a.md');
    await person.done('memory', 'import');
    await person.shell(`mv '${person.repository}' '${person.repository}-moved'`);
    const result = await person.mend(['memory', 'import', '--project', 'garden'], { cwd: person.user.home });
    expect(result).toMatchObject({ code: 3, stderr: expect.stringContaining('left out') });
  });

  test('no folder, and no store is made for it', async () => {
    expect(await person.done('memory', 'import')).toBe(
      `Claude Code keeps no memory for this repository on this machine (${person.memory})\n`,
    );
    expect(storeBytes()).toEqual({});
  });

  test('a link in place of the folder is refused', async () => {
    await person.shell(`mkdir -p "$(dirname "$M")/elsewhere"; ln -s elsewhere "$M"`);
    expectRefusal(await person.mend(['memory', 'import']), 1, /is a symbolic link: put a folder in its place/);
  });
});

describe('a copy from another machine', () => {
  const transcript = '0a0a0a0a-1b1b-2c2c-3d3d-4e4e4e4e4e4e.jsonl';
  test.each([
    ['the memory folder', '.', '.'],
    ['the folder of the project', 'memory', '.'],
    ['the configuration folder', 'projects/SLUG/memory', 'projects/SLUG'],
    ['the home', '.claude/projects/SLUG/memory', '.claude/projects/SLUG'],
    ['the folder of all projects', 'SLUG/memory', 'SLUG'],
    ['the folder of the project without transcripts', 'memory', undefined],
  ])('can be of %s; only memory is read', async (_, memory, sessions) => {
    const slug = person.repository.replace(/[^A-Za-z0-9]/g, '-');
    const copy = join(person.user.home, 'copy');
    const at = (path: string) => `'${join(copy, path.replace('SLUG', slug))}'`;
    await person.shell(`mkdir -p ${at(memory)}; printf 'note\\n' > ${at(memory)}/a.md`);
    if (memory !== '.' && sessions !== undefined) await person.shell(`printf '{}' > ${at(sessions)}/${transcript}`);
    const rows = await person.json<Row[]>('memory', 'import', '--from', copy, '--machine', 'laptop');
    expect(rows).toMatchObject([{ file: 'a.md', outcome: 'added' }]);
  });

  test.each([
    ['transcripts and no memory', transcript],
    ['a transcript of a helper', 'agent-1234.jsonl'],
    ['logins', '.credentials.json'],
    ['settings', 'settings.json'],
    ['a history', 'history.jsonl'],
    ["another agent's login", 'auth.json'],
    ["another project's folder", '-home-me-other/memory/a.md'],
    ['a home within', 'alice/.claude/projects/-x/memory/a.md'],
    ['a repository', '.git/config'],
    ['a repository within', 'garden/.git/config'],
  ])('with %s is refused', async (_, name) => {
    const copy = join(person.user.home, 'copy');
    await person.shell(
      `f='${copy}/${name}'; mkdir -p "$(dirname "$f")"; printf '{}' > "$f"; echo note > '${copy}/a.md'`,
    );
    const result = await person.mend(['memory', 'import', '--from', copy, '--machine', 'laptop']);
    expectRefusal(
      result,
      1,
      /holds other files than memory, and no memory of Claude Code for a repository at this path/,
    );
    expect(storeBytes()).toEqual({});
  });

  test('a link in it leads nowhere; one that is named is followed', async () => {
    const copy = join(person.user.home, 'copy');
    await person.shell(`mkdir -p '${copy}/private'; echo secret > '${copy}/private/a.md'
      mkdir '${copy}/project'; echo '{}' > '${copy}/project/${transcript}'; ln -s ../private '${copy}/project/memory'`);
    const from = (folder: string) => person.mend(['memory', 'import', '--from', folder, '--machine', 'laptop']);
    expectRefusal(await from(join(copy, 'project')), 1, /and no memory of Claude Code for a repository at this path/);
    expect(await from(join(copy, 'project/memory'))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('added'),
    });
  });

  test('the repository itself is refused, and no name at all', async () => {
    const from = (folder: string) => person.mend(['memory', 'import', '--from', folder, '--machine', 'laptop']);
    expectRefusal(await from('.'), 1, /is the repository itself/);
    expectRefusal(await from(''), 2, /the name of the folder for --from is empty/);
  });

  test('a mount within it is left out, also the one that is imported into', async () => {
    await person.done('mount');
    await person.shell('echo live > "$M/live.md"; echo plain > "$M/../plain.md"');
    const result = await person.mend(['memory', 'import', '--from', join(person.memory, '..'), '--machine', 'laptop']);
    expect(result).toMatchObject({ code: 3, stderr: '' });
    expect(result.stdout).toContain('skipped    memory: it lies on another file system, as in a mount\n');
    expect(result.stdout).toContain('added      plain.md\n');
    expect(result.stdout).not.toContain('live.md');
  });
});

test.each([
  [['--from', '/tmp'], /--from needs --machine/],
  [['--machine', 'laptop'], /--machine needs --from/],
  [['--from', '/tmp', '--machine', ''], /the name given to --machine is empty/],
  [['--from', '/tmp', '--machine', 'a\nb'], /control characters/],
  [['--harness', 'none'], /there is no harness "none"/],
  [['--harness', 'pi'], /pi keeps no memory folder/],
])('import %j is wrong usage', async (args, message) => {
  expectRefusal(await person.mend(['memory', 'import', ...args]), 2, message);
});

test('a folder for --from that cannot be read is refused in one sentence', async () => {
  const from = (folder: string) => person.mend(['memory', 'import', '--from', folder, '--machine', 'laptop']);
  expectRefusal(await from('/nowhere'), 1, /cannot be read \(ENOENT\): check the path given to --from/);
  expectRefusal(await from('/etc/passwd'), 1, /is not a folder: name a folder for --from/);
  const closed = join(person.user.home, 'closed');
  await person.shell(`mkdir -m 0 '${closed}'`);
  if (person.user.uid !== 0) expectRefusal(await from(closed), 1, /cannot be read \(EACCES\)/);
});
