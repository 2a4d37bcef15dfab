import { chmodSync, chownSync, closeSync, mkdirSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { loadNative } from '../../src/fuse/native.js';
import { withDeadline } from '../support/mounted.js';
import { programPath } from '../support/program.js';
import type { RunResult } from '../support/users.js';
import { expectRefusal, type MendOptions, memoryFolder, Person, until } from './person.js';

/** Time for a test of many commands, in ms. */
const LONG = 150_000;

let person: Person;
let bin: string;

beforeAll(async () => {
  person = await Person.make();
  bin = join(person.user.home, 'bin');
  put('bin/claude', '#!/bin/sh\neval "$SCRIPT"\n', 0o755);
});

afterAll(() => person.remove());

afterEach(() => rmSync(join(person.user.home, '.config'), { recursive: true, force: true }));

/** Writes a file of the person, by its path in the home. */
function put(name: string, text: string, mode = 0o644): string {
  const path = join(person.user.home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  for (const one of [path, dirname(path)]) chownSync(one, person.user.uid, person.user.gid);
  return path;
}

/** Runs mend with a program `claude` that is a shell script, in PATH. */
function run(args: readonly string[], script = '', options: MendOptions = {}): Promise<RunResult> {
  const env = { PATH: `${bin}:${process.env['PATH']}`, SCRIPT: script, M: person.memory, ...options.env };
  return withDeadline(100, [person.user.home], () => person.mend(args, { ...options, env }));
}

describe('the program', () => {
  test('gets what is behind its name as it is, the input and the output, and its memory is mounted', async () => {
    const show = 'for one in "$@"; do printf "<%s>" "$one"; done; cat; grep -c " $M fuse.mend " /proc/self/mounts';
    const args = ['--help', '--version', '--session', 'x', '--', '--', '', 'two words', '$HOME', "it's"];
    const result = await run(['run', 'claude', ...args], show, { input: 'input' });
    expect(result).toEqual({
      ...{ code: 0, signal: null, stderr: '' },
      stdout: `${args.map((one) => `<${one}>`).join('')}input1\n`,
    });
    const later = await run(['run', '--', 'claude', '-h'], 'echo "$1" >&2; exec >&-');
    expect(later).toMatchObject({ code: 0, stdout: '', stderr: '-h\n' });
  });

  test('is called by its name, in the folder of mend, with its environment', async () => {
    put('named/claude', `#!/bin/sh\nexec ${process.execPath} "$0.mjs" "$@"\n`, 0o755);
    put('named/claude.mjs', 'process.stdout.write([process.cwd(), process.env.PWD, process.env.LEFT].join())');
    const sub = join(person.repository, 'deep');
    mkdirSync(sub);
    const env = { PATH: `${join(person.user.home, 'named')}:${process.env['PATH']}`, LEFT: 'a\nb', PWD: sub };
    expect(await run(['run', 'claude'], '', { cwd: sub, env })).toMatchObject({
      code: 0,
      stdout: `${sub},${sub},a\nb`,
    });
  });

  test.each([0, 1, 2, 3, 77, 255])('exits with %i, and so does mend', async (code) => {
    expect(await run(['run', 'claude'], `exit ${code}`)).toEqual({ code, signal: null, stdout: '', stderr: '' });
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGSEGV', 'SIGUSR1', 'SIGPIPE'] as const)(
    'dies of %s, and so does mend',
    async (signal) => {
      const result = await run(['run', 'claude'], `ulimit -c unlimited; kill -${signal.slice(3)} $$`);
      expect(result).toEqual({ code: null, signal, stdout: '', stderr: '' });
    },
  );

  test(
    'that PATH does not have, or that cannot be run: 127 and 126, and nothing is made',
    async () => {
      const fresh = await Person.make();
      try {
        const before = fresh.snapshot();
        const env = { PATH: '/usr/bin:/bin' };
        expectRefusal(
          await fresh.mend(['run', 'claude'], { env }),
          127,
          /no program "claude" in PATH: install Claude Code/,
        );
        mkdirSync(join(fresh.user.home, 'claude'));
        chmodSync(join(fresh.user.home, 'claude'), 0o755);
        const folder = { env: { PATH: `${fresh.user.home}:/usr/bin:/bin` } };
        expectRefusal(await fresh.mend(['run', 'claude'], folder), 127, /no program "claude"/);
        expect(fresh.snapshot().filter((line) => !/ claude $/.test(line))).toEqual(before);
        expect(await fresh.mend(['memory'])).toMatchObject({ code: 1 });
      } finally {
        await fresh.remove();
      }
      put('plain/claude', 'echo no program\n');
      const plain = join(person.user.home, 'plain');
      expectRefusal(
        await run(['run', 'claude'], '', { env: { PATH: `${plain}:/usr/bin:/bin` } }),
        126,
        /plain\/claude cannot be run: make it/,
      );
      // A shell goes on looking, too.
      expect(
        await run(['run', 'claude'], 'echo found', { env: { PATH: `${plain}:${bin}:/usr/bin:/bin` } }),
      ).toMatchObject({
        code: 0,
        stdout: 'found\n',
      });
      put('lost/claude', '#!/no/such/interpreter\n', 0o755);
      const lost = await run(['run', 'claude'], '', {
        env: { PATH: `${join(person.user.home, 'lost')}:/usr/bin:/bin` },
      });
      expectRefusal(
        lost,
        127,
        /lost\/claude cannot be started: its first line names \/no\/such\/interpreter, which is not there/,
      );
    },
    LONG,
  );

  test('without a line that names an interpreter is a shell script', async () => {
    put('bare/claude', 'echo "bare $1"\n', 0o755);
    const env = { PATH: `${join(person.user.home, 'bare')}:/usr/bin:/bin` };
    expect(await run(['run', 'claude', 'one'], '', { env })).toMatchObject({ code: 0, stdout: 'bare one\n' });
  });

  test(
    'can be named in the settings, by an absolute path',
    async () => {
      const other = put('elsewhere/agent', '#!/bin/sh\necho "from the settings: $1"\n', 0o755);
      const config = (value: string) => put('.config/mend/config.yaml', `programs:\n  claude: ${value}\n`);
      config(other);
      expect(await run(['run', 'claude', 'x'])).toMatchObject({ code: 0, stdout: 'from the settings: x\n' });
      config('agent');
      expectRefusal(await run(['run', 'claude']), 1, /"programs.claude" must be an absolute path of a program/);
      config(`${other}-gone`);
      expectRefusal(await run(['run', 'claude']), 127, /agent-gone is not there: correct "programs"/);
      config(join(person.user.home, 'plain/claude'));
      expectRefusal(await run(['run', 'claude']), 126, /plain\/claude cannot be run: correct "programs"/);
    },
    LONG,
  );

  test(
    'that is a script which runs mend again is stopped from starting itself for ever',
    async () => {
      const result = await run(['run', 'claude'], 'exec "$NODE" "$MEND" run claude', {
        env: { NODE: process.execPath, MEND: programPath() },
      });
      expect(result).toMatchObject({ code: 1, stdout: '' });
      expect(result.stderr).toMatch(/^mend: mend run starts itself again and again: set "programs" [^\n]+\n$/);
    },
    LONG,
  );
});

describe('wrong words', () => {
  test.each(['pi', 'opencode'])('%s keeps no memory', async (name) => {
    expectRefusal(await run(['run', name]), 2, /keeps no memory folder, so there is nothing for mend to mount/);
    expectRefusal(await run(['env', name]), 2, /keeps no memory folder/);
  });

  test.each([
    [['run'], /missing required argument 'harness'/],
    [['run', 'cladue'], /no harness "cladue": use one of claude, codex\n/],
    [['env', 'cladue'], /no harness "cladue": use one of claude, codex\n/],
    [['run', '--sesion', 'x', 'claude'], /unknown option '--sesion'/],
    [['env', 'claude', 'more'], /too many arguments/],
    ...['', '.', '..', 'a/b', 'a b', '-x', 'é', 'a\n', 'a'.repeat(65)].map(
      (name) => [['run', `--session=${name}`, 'claude'], /cannot be the name of a session: take up to 64/] as const,
    ),
    [['session', 'show', '../x'], /cannot be the name of a session/],
    [['session', 'nothing'], /unknown command 'nothing'/],
  ] as const)('%j is refused, and nothing is started', async (args, sentence) => {
    expectRefusal(await run(args, 'echo started'), 2, sentence);
  });

  test('a project or folder that is none', async () => {
    expectRefusal(await run(['run', '--project', 'nobody', 'claude'], 'echo started'), 1, /no project "nobody"/);
    // Nobody but the person can enter it.
    const command = [
      'sh',
      '-c',
      'cd "$M" && exec "$@"',
      'sh',
      process.execPath,
      programPath(),
      'run',
      'claude',
    ] as const;
    const env = { M: person.memory, PATH: `${bin}:${process.env['PATH']}`, SCRIPT: 'echo started' };
    const within = await withDeadline(100, [person.user.home], () => person.user.run(command, { env }));
    expectRefusal(within, 1, /lies in a mounted memory folder/);
  });
});

describe('a place', () => {
  test('outside a repository is a project of its own', async () => {
    const folder = join(person.user.home, 'loose');
    await person.user.run(['mkdir', folder]);
    const memory = memoryFolder(person.user.home, folder);
    const result = await run(['run', 'claude'], 'echo loose >"$M/n.md"', { cwd: folder, env: { M: memory } });
    expect(result).toEqual({ code: 0, signal: null, stdout: '', stderr: '' });
    expect(await person.done('memory', 'show', 'n.md', '--project', 'loose')).toBe('loose\n');
  });

  test(
    'of another project is a checkout of it, the folder of mend where that belongs to it',
    async () => {
      const said = await run(['run', '--project', 'garden', 'claude'], 'pwd; echo "$PWD"', { cwd: person.user.home });
      expect(said).toMatchObject({ code: 0, stdout: `${person.repository}\n${person.repository}\n` });
      const sub = join(person.repository, 'deep');
      expect(await run(['run', '--project', 'garden', 'claude'], 'pwd', { cwd: sub })).toMatchObject({
        stdout: `${sub}\n`,
      });
    },
    LONG,
  );

  test('that cannot be mounted on keeps the program from being started', async () => {
    const file = put('taken', 'a file');
    const result = await run(['run', 'claude'], 'echo started', { env: { CLAUDE_CONFIG_DIR: file } });
    expectRefusal(result, 1, /taken/);
  });

  test(
    'with a conflict: that is said on standard error, and the program starts',
    async () => {
      const other = await Person.make('shed');
      try {
        await other.user.run(['sh', '-c', `mkdir -p "$M"; head -c 2000000 /dev/zero >"$M/big.md"`], {
          env: { M: other.memory },
        });
        const script = join(other.user.home, 'claude');
        await other.user.run(['sh', '-c', `printf '#!/bin/sh\\necho started\\n' >"$0"; chmod +x "$0"`, script]);
        const result = await other.mend(['run', 'claude'], {
          env: { PATH: `${other.user.home}:${process.env['PATH']}` },
        });
        expect(result).toMatchObject({ code: 0, stdout: 'started\n' });
        expect(result.stderr).toMatch(/^mend: left out big.md: it is larger than [^\n]*\n$/);
      } finally {
        await other.remove();
      }
    },
    LONG,
  );
});

describe('mend env', () => {
  test(
    'mounts, and prints what a shell can read; nothing where nothing is needed',
    async () => {
      await person.done('unmount', '--all');
      expect(await run(['env', 'claude'])).toEqual({ code: 0, signal: null, stdout: '', stderr: '' });
      expect(person.mounts()).toEqual([person.memory]);
      const odd = join(person.user.home, "it's a $folder");
      const asked = await run(['env', 'claude'], '', { cwd: person.repository, env: { CLAUDE_CONFIG_DIR: odd } });
      const read = await person.user.run(['sh', '-c', `${asked.stdout}sh -c 'printf %s "$CLAUDE_CONFIG_DIR"'`]);
      expect(read.stdout).toBe(odd);
      expect(person.mounts().filter((path) => path.startsWith(odd))).toHaveLength(1);
      // It means the same from another folder.
      const relative = await run(['env', 'claude'], '', { env: { CLAUDE_CONFIG_DIR: 'own' } });
      expect(relative.stdout).toBe(`export CLAUDE_CONFIG_DIR=${person.repository}/own\n`);
      await person.done('unmount', '--all');
    },
    LONG,
  );

  test(
    '--json has all that is needed to start the agent',
    async () => {
      const result = await run(['env', 'claude', '--json', '--project', 'garden'], '', { cwd: person.user.home });
      expect(JSON.parse(result.stdout)).toEqual({
        ...{ harness: 'claude', project: 'garden', memory: person.memory, folder: person.repository },
        ...{ program: join(bin, 'claude'), arguments: [], environment: { PWD: person.repository } },
      });
      const none = await run(['env', 'claude', '--json'], '', { env: { PATH: '/usr/bin:/bin' } });
      expect(JSON.parse(none.stdout)).toMatchObject({ program: null, environment: {} });
    },
    LONG,
  );
});

describe('mend session', () => {
  interface Session {
    readonly session: string;
    readonly running: boolean;
  }

  test(
    'lists, shows and ends; a name that runs is refused, one of another project, too',
    async () => {
      const fresh = await Person.make('meadow');
      try {
        const claude = join(fresh.user.home, 'claude');
        await fresh.user.run(['sh', '-c', `printf '#!/bin/sh\\neval "$SCRIPT"\\n' >"$0"; chmod +x "$0"`, claude]);
        const start = (args: readonly string[], SCRIPT: string, cwd = fresh.repository) =>
          fresh.mend(['run', ...args, 'claude'], {
            cwd,
            env: { PATH: `${fresh.user.home}:${process.env['PATH']}`, SCRIPT, M: fresh.memory },
          });
        expect(await fresh.done('session')).toBe('there is no session: "mend run <harness>" starts one\n');
        expect(await fresh.json('session', 'list')).toEqual([]);
        expect(
          await start(['--session', 'one'], 'echo a >"$M/a.md"; cat "$M/a.md"; echo b >"$M/b.md"; rm "$M/b.md"'),
        ).toMatchObject({ code: 0 });
        const shown = await fresh.json<Record<string, unknown>>('session', 'show', 'one');
        const when = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        await until(
          async () => (await fresh.json<{ files_known: number }>('session', 'show', 'one')).files_known === 2,
        );
        expect({ ...shown, files_known: 2 }).toEqual({
          ...{ session: 'one', harness: 'claude', project: 'meadow', began: when, last: when, ended: null },
          ...{ running: false, processes: [], shared: null, files_known: 2, files_changed: 2 },
        });
        expect(await fresh.done('session', 'show', 'one')).toMatch(
          /^session one, not running\nagent claude, project meadow\nbegan .*, last used .*\nprocesses none\nfiles known 2, changed 2\n$/,
        );
        expect(await fresh.json('session', 'list')).toEqual([
          {
            ...{ session: 'one', harness: 'claude', project: 'meadow' },
            ...{ began: when, last: when, ended: null, running: false, processes: [], shared: null },
          },
        ]);
        const running = start(['--session', 'two'], 'until test -e "$HOME/go"; do sleep 0.05; done');
        await until(async () =>
          (await fresh.json<Session[]>('session', 'list')).some(({ session, running }) => running && session === 'two'),
        );
        expectRefusal(await start(['--session', 'two'], ''), 1, /session "two" runs already \(process \d+\)/);
        const loose = join(fresh.user.home, 'loose');
        await fresh.user.run(['mkdir', loose]);
        expectRefusal(await start(['--session', 'one'], '', loose), 1, /session "one" is one of project "meadow"/);
        await fresh.shell('touch "$HOME/go"');
        expect(await running).toMatchObject({ code: 0 });
        expect(await fresh.done('session')).toMatch(
          /^session +agent +project .*\ntwo +claude +meadow .*not running\none /,
        );
        expect(await fresh.done('session', 'end', 'one')).toBe('ended session "one"\n');
        expectRefusal(await fresh.mend(['session', 'end', 'one']), 1, /session "one" has ended already/);
        expect((await fresh.json<Session[]>('session', 'list')).map(({ session }) => session)).toEqual(['two']);
        expect(await fresh.done('session', '--all')).toMatch(/\none .* ended \d{4}-/);
        expectRefusal(
          await fresh.mend(['session', 'show', 'three']),
          1,
          /no session "three": "mend session list --all"/,
        );
        // A session of another agent is refused before a home is made for this one.
        const codex = { env: { PATH: `${fresh.user.home}:${process.env['PATH']}` } };
        await fresh.user.run(['cp', claude, join(fresh.user.home, 'codex')]);
        expect(await start(['--session', 'three'], 'true')).toMatchObject({ code: 0 });
        const before = fresh.mounts();
        expectRefusal(
          await fresh.mend(['run', '--session', 'three', 'codex'], codex),
          1,
          /session "three" is one of claude: choose/,
        );
        expect(fresh.mounts()).toEqual(before);
        await fresh.done('session', 'end', 'three');
        // A project that is forgotten takes its sessions along.
        await fresh.done('unmount', '--all');
        await fresh.done('project', 'forget', 'meadow', '--confirm', 'meadow');
        expect(await fresh.json('session', 'list', '--all')).toEqual([]);
      } finally {
        await fresh.remove();
      }
    },
    LONG,
  );

  test('who asks is known from the kernel: nobody registers a process that is not his', async () => {
    const { connectControl } = await import('../../src/daemon/control-client.js');
    const { beginSessionRequest, joinSessionRequest } = await import('../../src/daemon/control-protocol.js');
    await run(['env', 'claude']);
    const folder = join(person.store, 'run');
    const socket = readdirSync(folder).find((name) => name.endsWith('.sock')) ?? '';
    const client = await connectControl(folder, socket);
    if (!client) throw new Error('no daemon answers');
    try {
      const begin = { name: 'test', chosen: true, harness: 'claude', project: 1 };
      await client.rpc.sendRequest(beginSessionRequest, begin);
      const [daemon = 0] = person.daemons();
      await expect(client.rpc.sendRequest(joinSessionRequest, daemon)).rejects.toThrow(/is no child of process/);
      const list = await person.json<{ session: string; processes: number[] }[]>('session', 'list');
      expect(list.find(({ session }) => session === 'test')?.processes).toContain(process.pid);
      expect(list.find(({ session }) => session === 'test')?.processes).not.toContain(daemon);
    } finally {
      client.close();
      await person.mend(['session', 'end', 'test']);
    }
    const folderFd = openSync('/', 'r');
    expect(loadNative().peerProcess(folderFd)).toBeLessThan(0);
    closeSync(folderFd);
  });
});
