import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Machine } from '../support/machine.js';
import { programFolder } from '../support/program.js';
import { isRoot, type TestUser } from '../support/users.js';
import { until } from './person.js';
import { isInstalled } from './terminal.js';

const packaging = join(import.meta.dirname, '../../packaging');

/** Stands for the managers of systemd, which do not run in a test: writes down what it was told to do. */
const RECORDER = '#!/bin/sh\necho "$(basename "$0") $*" >>"$(dirname "$0")/calls"\n';

describe.runIf(isRoot)('the start of a machine (only root can act as one)', () => {
  let machine: Machine;
  let ann: TestUser;

  beforeAll(async () => {
    machine = await Machine.open(1);
    ann = machine.person(0);
    expect(await machine.mend(['admin', 'enable', ann.name])).toMatchObject({ code: 0 });
  }, 150_000);

  afterAll(() => machine?.close(), 150_000);

  const seen = (): Promise<string> =>
    machine.sh(ann, 'cd "$HOME"/.claude/projects/*/memory 2>/dev/null && cat note.md || echo nothing');
  const daemon = async (): Promise<number | null> =>
    (JSON.parse((await machine.mend(['status', '--json'], ann)).stdout) as { pid: number | null }).pid;
  /** The words of a line of the unit, without the program. */
  const words = (key: string): string[] =>
    (
      new RegExp(`^${key}=/usr/bin/mend (.*)$`, 'm').exec(readFileSync(join(packaging, 'mend.service'), 'utf8'))?.[1] ??
      ''
    ).split(' ');

  test('what the unit starts: nothing at first, then all that there is, in order to its end', async () => {
    const start = words('ExecStart');
    expect(await machine.mend(start, ann, '/')).toMatchObject({
      code: 0,
      stdout: 'there is nothing to mount yet\n',
      stderr: '',
    });
    await machine.sh(
      ann,
      `cd "$HOME"; git init -q garden; cd garden; "$@" mount; cd "$HOME"/.claude/projects/*/memory; echo kept >note.md`,
      ...machine.command,
    );
    const served = await machine.mend(start, ann, '/');
    expect(served).toMatchObject({ code: 1, stderr: expect.stringContaining('a daemon serves this store already') });
    await machine.sh(ann, '"$@" unmount --all', ...machine.command);
    await until(async () => (await daemon()) === null);
    await machine.sh(ann, 'echo changed >"$(echo "$HOME"/.claude/projects/*/memory/note.md)"');

    const serve = async (): Promise<[child: ChildProcess, ended: Promise<unknown[]>]> => {
      const child = ann.spawn([...machine.command, ...start], { cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] });
      if (child.stdout) await once(child.stdout, 'data');
      return [child, once(child, 'exit')];
    };
    // systemd ends the rest of a unit whose main process was killed, and starts it again.
    const [killed, end] = await serve();
    const server = await daemon();
    for (const pid of [killed.pid, server]) process.kill(pid ?? 0, 'SIGKILL');
    expect((await end)[1]).toBe('SIGKILL');
    await until(async () => (await daemon()) === null);
    const [child, ended] = await serve();
    expect(await seen()).toBe('changed\n');
    const before = await daemon();
    expect(await machine.mend(words('ExecReload'), ann, '/')).toMatchObject({ code: 0 });
    expect(await daemon()).not.toBe(before);
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    expect(await daemon()).toBe(null);
    expect((await machine.mend(['admin', 'status', '--json'])).stdout).toContain('"mounts": []');
  }, 200_000);

  test('mend-boot mounts for who is enabled', async () => {
    const script =
      'mkdir -p "$1/packaging"; ln -sfn "$2/dist" "$1/dist"; cp "$3/mend-boot" "$1/packaging/"; "$1/packaging/mend-boot"';
    const said = await machine.sh(machine.root, script, `${machine.root.home}/mend`, programFolder(), packaging);
    expect(said).toMatch(new RegExp(`^${ann.name}: mounted ${ann.home}/`));
    expect(await seen()).toBe('changed\n');
    expect(await machine.mend(['admin', 'disable', '--stop', ann.name])).toMatchObject({ code: 0 });
  }, 150_000);

  test.runIf(isInstalled('systemd-analyze'))(
    'where systemd runs, the unit is installed and the manager is told',
    async () => {
      const bin = `${machine.root.home}/bin`;
      await machine.sh(
        machine.root,
        `mkdir -p /run/systemd/system "$1"; printf '%s' "$2" >"$1/systemctl"; cp "$1/systemctl" "$1/loginctl"; chmod 755 "$1"/*`,
        bin,
        RECORDER,
      );
      const run = async (args: string[], env: Record<string, string> = {}): Promise<void> => {
        const all = { ...env, PATH: `${bin}:${process.env['PATH']}` };
        expect(await machine.mend(['admin', ...args], machine.root, '/', all)).toMatchObject({ code: 0, stderr: '' });
      };
      const calls = async (...args: string[]): Promise<string> => {
        await run(args);
        return machine.sh(machine.root, 'cat "$1/calls"; rm "$1/calls"', bin);
      };
      const manager = `systemctl --user --machine=${ann.name}@.host`;
      const on = `loginctl enable-linger ${ann.name}\n${manager} daemon-reload\n${manager} enable mend.service\n`;
      expect(await calls('enable', ann.name)).toBe(on);
      const verify = 'XDG_RUNTIME_DIR=$HOME systemd-analyze --user --man=no verify /etc/systemd/user/mend.service 2>&1';
      expect(await machine.sh(machine.root, verify)).toBe('');
      const text = await machine.sh(machine.root, 'cat /etc/systemd/user/mend.service');
      const program = machine.command.map((word) => `"${word}"`).join(' ');
      expect(text).toContain(`\nExecStart=${program} ${words('ExecStart').join(' ')}\n`);
      expect(await calls('start')).toBe(`${manager} start mend.service\n`);
      expect(await calls('disable', ann.name)).toBe(
        `${manager} disable mend.service\nloginctl disable-linger ${ann.name}\n`,
      );
      // Lingering that somebody switched on already stays.
      await machine.sh(machine.root, 'mkdir -p /var/lib/systemd/linger; : >"/var/lib/systemd/linger/$1"', ann.name);
      expect(await calls('enable', ann.name)).not.toContain('linger');
      expect(await calls('disable', ann.name)).not.toContain('linger');
      // What the managers of users are not told by root's environment is in the unit.
      await run(['enable', ann.name], { MEND_SYSTEM_DIR: '/var/lib/a "100 %" $HOME' });
      expect(await machine.sh(machine.root, verify)).toBe('');
      const [setting = ''] = await machine
        .sh(machine.root, 'grep ^Environment= /etc/systemd/user/mend.service')
        .then((lines) => lines.split('\n'));
      expect(setting).toBe('Environment="MEND_SYSTEM_DIR=/var/lib/a \\"100 %%\\" $HOME"');
    },
    150_000,
  );
});
