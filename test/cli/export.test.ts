import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { staged } from '../mounted/stage.js';
import { withStore } from '../mounted/with-store.js';
import { python } from '../posix/run.js';
import { programPath } from '../support/program.js';
import { isRoot } from '../support/users.js';
import { expectRefusal, Person, snapshot } from './person.js';

const interpreter = python();
let person: Person;

beforeAll(async () => {
  person = await Person.make();
  await person.shell(`mkdir -p "$M/a/b/c" "$M/two words"; cd "$M"
    printf 'index\\n' > MEMORY.md; touch -d '2024-02-29 12:34:56.654321' MEMORY.md
    printf 'deep' > a/b/c/deep.md; touch -d '1999-12-31 23:59:59.000001' a/b/c/deep.md
    printf 'odd' > 'two words/🌱 "q" \\n ñ.md'; touch -d '2020-01-01 00:00:00' two*/*
    printf 'mac' > "$(printf 'cafe\\314\\201.md')"
    : > empty.md; printf 'a\\0b\\377\\r\\n' > binary
    printf 'long' > "$(printf 'l%.0s' $(seq 250)).md"
    mkdir -p "$(printf 'f%.0s' $(seq 200))"; printf 'x' > "$(printf 'f%.0s' $(seq 200))/$(printf 'n%.0s' $(seq 120))"
    head -c 1048576 /dev/zero | tr '\\0' 'x' > full.md
    printf 'left' > .note.md.swp; printf 'left' > x.lock
    chmod 644 MEMORY.md; chmod 755 a`);
  await person.done('memory', 'import');
});

afterAll(async () => {
  await person.remove();
});

const exported = 'exported 9 files (1 MB) to';

/** Names, kinds, modes, times and contents of all files under a folder, as one line each. */
const files = (folder: string): Promise<string> =>
  person.shell(`cd "${folder}"; find . -type f -printf '%m %T@ %P ' -exec sha256sum -z {} + | tr '\\0' '\\n' | sort;
    find . -type f -printf '%m %TY-%Tm-%Td %TH:%TM:%TS %P\\n' | sort; find . -mindepth 1 -type d -printf '%m %P\\n' | sort`);

test('a folder has every file, with contents, names, modes and times', async () => {
  expect(await person.done('memory', 'export', 'out')).toBe(`${exported} ${person.repository}/out\n`);
  const text = await person.shell(
    `cd "${person.repository}/out"; find . -printf '%m %y %TY-%Tm-%Td %TT %P\\n' | sort -k5`,
  );
  expect(text).toContain('600 f 2024-02-29 12:34:56.6543210000 MEMORY.md\n');
  expect(text).toContain('600 f 1999-12-31 23:59:59.0000010000 a/b/c/deep.md\n');
  expect(text).toContain('600 f 2020-01-01 00:00:00.0000000000 two words/🌱 "q" \\n ñ.md\n');
  expect(text).not.toMatch(/\.swp|\.lock|mend\.tmp/);
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(0, 5))
      .sort(),
  ).toEqual([...Array(9).fill('600 f'), ...Array(6).fill('700 d')]);
  await person.shell(
    `cd "$M"; find . -type f ! -name '*.swp' ! -name '*.lock' -exec cmp {} "${person.repository}/out/{}" ';'`,
  );
  expect(await person.shell(`ls -A "${person.repository}"`)).toBe('.git\nout\n');
});

test('an import of it finds every file the same', async () => {
  const before = await person.json('memory');
  expect(await person.json('memory', 'import', '--from', `${person.repository}/out`, '--machine', 'elsewhere')).toEqual(
    expect.arrayContaining([expect.objectContaining({ file: 'MEMORY.md', outcome: 'same' })]),
  );
  expect(await person.json('memory')).toEqual(before);
  const env = { MEND_STORE_DIR: `${person.user.home}/other` };
  const from = ['memory', 'import', '--from', `${person.repository}/out`, '--machine', 'elsewhere'];
  expect(await person.mend(from, { env })).toMatchObject({ code: 0 });
  expect(JSON.parse((await person.mend(['memory', '--json'], { env })).stdout)).toEqual(before);
});

describe('an archive', () => {
  test.each([
    ['x.tar', 'tar -xf'],
    ['x.tar.gz', 'tar -xzf'],
    ['X.TGZ', 'tar -xzf'],
  ])('%s unpacks to the same', async (name, unpack) => {
    const target = `${person.repository}/${name}`;
    expect(await person.done('memory', 'export', name)).toBe(`${exported} ${target}\n`);
    expect(
      await person.shell(
        `stat -c %a "${target}"; rm -rf "$HOME/u"; mkdir "$HOME/u"; ${unpack} "${target}" -C "$HOME/u"`,
      ),
    ).toBe('600\n');
    expect(await files(`${person.user.home}/u`)).toBe(await files(`${person.repository}/out`));
  });

  test.skipIf(interpreter === undefined)(
    'is read by Python, with names and times as they are, and the same each time',
    async () => {
      const script = `import sys, tarfile
with tarfile.open(sys.argv[1], errorlevel=2) as tar:
    for m in tar: print(m.type.decode(), oct(m.mode), '%.6f' % m.mtime, m.size, m.name)`;
      const output = execFileSync(interpreter ?? '', ['-c', script, `${person.repository}/x.tar`], {
        encoding: 'utf8',
      });
      const lines = output.trimEnd().split('\n');
      expect(lines).toHaveLength(14);
      expect(lines).toContainEqual(expect.stringMatching(/^0 0o600 \d+\.654321 6 MEMORY\.md$/));
      expect(lines).toContain(
        `0 0o600 ${Date.parse('2020-01-01T00:00:00Z') / 1000}.000000 3 two words/🌱 "q" \\n ñ.md`,
      );
      expect(lines.filter((line) => line.startsWith('5 0o700 ') && line.endsWith(' a'))).toHaveLength(1);
      expect(lines.some((line) => line.endsWith(`${'f'.repeat(200)}/${'n'.repeat(120)}`))).toBe(true);
      await person.done('memory', 'export', 'again.tgz');
      await person.shell(`cmp "${person.repository}/again.tgz" "${person.repository}/X.TGZ"`);
    },
  );

  test('goes to standard output for -, which is no terminal', async () => {
    const args = [programPath(), 'memory', 'export', '-'];
    const script = '"$0" "$@" | cmp - x.tar';
    const result = await person.user.run(['bash', '-o', 'pipefail', '-c', script, process.execPath, ...args], {
      cwd: person.repository,
    });
    expect(result).toMatchObject({ code: 0, stdout: '', stderr: '' });
    const line = [process.execPath, ...args].join(' ');
    const terminal = await person.user.run(['script', '-qec', line, '/dev/null'], { cwd: person.repository });
    expect(terminal).toMatchObject({ code: 2 });
    expect(terminal.stdout).toMatch(/^mend: an archive is not for a terminal: [^\n]*\n$/);
  });
});

describe('a target', () => {
  test('that is an empty folder is filled, and stays what it was', async () => {
    const there = await person.shell('mkdir -m 750 "$HOME/empty"; stat -c %i "$HOME/empty"');
    const { code } = await person.mend(['memory', 'export', '.', '--project', 'garden'], {
      cwd: `${person.user.home}/empty`,
    });
    expect(code).toBe(0);
    expect(await person.shell('stat -c "%i %a" "$HOME/empty"')).toBe(`${there.trim()} 750\n`);
    expect(await files(`${person.user.home}/empty`)).toBe(await files(`${person.repository}/out`));
  });

  test('that is in the way is left alone', async () => {
    await person.shell(`cd "$HOME"; mkdir full real; touch full/x file old.tar; ln -s real link; ln -s real/new.tar new.tar
      ln -s nowhere dangling; mkdir dir.tar; mkfifo fifo.tar; mkdir -m 500 locked`);
    const before = snapshot(person.user.home);
    for (const [target, sentence] of [
      ['full', /"\/\S*full" is not empty, and an export replaces nothing: name an empty or a new folder/],
      ['file', /file" is there already, and an export replaces nothing/],
      ['old.tar', /old\.tar" is there already/],
      ['dir.tar', /dir\.tar" is there already/],
      ['fifo.tar', /fifo\.tar" is there already/],
      ['link', /link" is a link, and exports go through none/],
      ['link/', /link" is a link/],
      ['new.tar', /new\.tar" is a link/],
      ['dangling', /dangling" is a link/],
      ['nosuch/out', /there is no folder "\/\S*nosuch" to export to: make it first/],
      ['file/out.tar', /there is no folder "\/\S*file" to export to/],
    ] as [string, RegExp][])
      expectRefusal(await person.mend(['memory', 'export', `${person.user.home}/${target}`]), 1, sentence);
    if (isRoot) {
      for (const target of ['locked/out', 'locked/out.tar', 'locked'])
        expectRefusal(
          await person.mend(['memory', 'export', `${person.user.home}/${target}`]),
          1,
          /the export cannot be written at "\/\S*": name a target in a folder of yours/,
        );
    }
    expectRefusal(await person.mend(['memory', 'export', '']), 2, /the target of the export has no name/);
    expectRefusal(await person.mend(['memory', 'export']), 2, /missing required argument 'target'/);
    expectRefusal(
      await person.mend(['memory', 'export', 'y', '--harness', 'nosuch']),
      2,
      /there is no harness "nosuch"/,
    );
    expect(snapshot(person.user.home)).toEqual(before);
  });

  test('with a name too long for all of it leaves nothing', async () => {
    const name = 'p'.repeat(250);
    const parent = `${person.user.home}/${Array(15).fill(name).join('/')}`;
    await person.shell(`cd "$HOME"; for i in $(seq 15); do mkdir ${name}; cd ${name}; done`);
    expectRefusal(
      await person.mend(['memory', 'export', `${parent}/o`]),
      1,
      /cannot be written at "\/\S*" \(ENAMETOOLONG\)/,
    );
    expect(await person.shell(`ls -A "${parent}"`)).toBe('');
  });

  test('in a mounted memory folder is refused', async () => {
    await person.done('mount');
    expectRefusal(
      await person.mend(['memory', 'export', `${person.memory}/out`]),
      1,
      /lies in a mounted memory folder/,
    );
    await person.done('memory', 'export', 'from-mount');
    expect(await files(`${person.repository}/from-mount`)).toBe(await files(`${person.repository}/out`));
    await person.done('unmount');
  });

  test.runIf(isRoot)('on a full disk (only root can make a small one) leaves nothing', async () => {
    const disk = join(person.user.home, 'disk');
    const { uid, gid } = person.user;
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=512k,mode=700,uid=${uid},gid=${gid}`, 'mend-small', disk]);
    try {
      for (const target of ['out', 'out.tar', '.'])
        expectRefusal(
          await person.mend(['memory', 'export', `${disk}/${target}`]),
          1,
          /there is no room for the export at "\/\S*": make room or name another target/,
        );
      expect(await person.shell(`ls -A "${disk}"`)).toBe('');
      // An archive that is packed well has room.
      expect(await person.mend(['memory', 'export', `${disk}/out.tgz`])).toMatchObject({ code: 0 });
    } finally {
      execFileSync('umount', ['--lazy', disk]);
    }
  });
});

test('an export that is killed leaves what nobody takes for one', async () => {
  const home = person.user.home;
  await person.shell('mkdir "$HOME/cut"');
  for (const milliseconds of [150, 200, 250, 300, 350, 400, 500]) {
    const script = `timeout -s KILL ${milliseconds / 1000} "$0" "$@"; [ $? -eq 137 ] || rm -r out`;
    const args = [programPath(), 'memory', 'export', 'out', '--project', 'garden'];
    await person.user.run(['sh', '-c', script, process.execPath, ...args], { cwd: `${home}/cut` });
    for (const name of (await person.shell('ls -A "$HOME/cut"')).split('\n').filter(Boolean)) {
      if (name === 'out') expect(await files(`${home}/cut/out`)).toBe(await files(`${person.repository}/out`));
      else expect(name).toMatch(/^\.mend\.tmp\.\d+\.[0-9a-f]{8}$/);
    }
    await person.shell('rm -rf "$HOME/cut/out"');
  }
});

test(
  'another harness lies in a folder of its name, or at the top alone, and never in the way of Claude Code',
  staged(60, async (stage) => {
    await stage.sh('mkdir -p "$1/sub"; printf claude > "$1/MEMORY.md"; printf x > "$1/sub/x.md"', stage.folder());
    await stage.mend(['memory', 'import']);
    await withStore(stage, (store, files) => {
      const [project] = store.projects.list(store.machine);
      if (!project) throw new Error('no project');
      const Files = files.constructor as new (...args: unknown[]) => typeof files;
      const put = { kind: 'saved', session: 0 } as const;
      store.write(() => {
        new Files(store, store.treeOf(project.id, 'codex')).put('MEMORY.md', Buffer.from('codex'), put);
        new Files(store, store.treeOf(project.id, 'sub')).put('y.md', Buffer.from('y'), put);
      });
    });
    const refused = await stage.mend(['memory', 'export', 'out'], { status: 1 });
    expect(refused.stderr).toMatch(/has an entry named sub itself, .*: export one at a time with --harness\n$/);
    expect((await stage.mend(['memory', 'export', 'out', '--harness', 'sub'])).stdout).toContain('exported 1 file ');
    expect(await stage.sh('cd repository/out; find . -type f')).toBe('./y.md\n');
    await stage.mend(['memory', 'export', 'claude', '--harness', 'claude']);
    expect(await stage.sh('cd repository/claude; find . -type f | sort')).toBe('./MEMORY.md\n./sub/x.md\n');
    await stage.sh('rm -r "$1/sub"', stage.folder());
    await stage.mend(['memory', 'rm', 'sub/x.md']);
    await stage.mend(['memory', 'export', 'all']);
    expect(await stage.sh('cd repository/all; find . -type f | sort | xargs tail -n +1')).toBe(
      '==> ./MEMORY.md <==\nclaude\n==> ./codex/MEMORY.md <==\ncodex\n==> ./sub/y.md <==\ny',
    );
  }),
  100_000,
);

test('a project without memory has nothing to export', async () => {
  const empty = await Person.make('empty');
  await empty.done('mount');
  await empty.done('unmount');
  expectRefusal(
    await empty.mend(['memory', 'export', 'out']),
    1,
    /project "empty" has no memory yet, so there is nothing/,
  );
  expect(await empty.shell(`ls -A "${empty.repository}"`)).toBe('.git\n');
  await empty.remove();
});
