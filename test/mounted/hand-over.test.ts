import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { leftoverMounts } from '../support/mounted.js';
import { listProcesses } from '../support/processes.js';
import { gone, type Stage, staged, until } from './stage.js';

const WITHOUT_RESEND = { MEND_WITHOUT_RESEND: '1' };

async function running(stage: Stage): Promise<{ pid: number; supervisor: number; resend: boolean }> {
  const { pid, supervisor_pid: supervisor, kernel } = await stage.status();
  if (pid === null || supervisor === null) throw new Error('no daemon runs');
  return { pid, supervisor, resend: kernel.resend };
}

const isRunning = (pid: number): boolean => listProcesses().some((entry) => entry.pid === pid && !entry.zombie);
const logOf = (stage: Stage): string => readFileSync(join(stage.store, 'daemon.log'), 'utf8');

test.each([
  ['', {}],
  [', also where the kernel cannot send requests again', WITHOUT_RESEND],
])(
  'mend daemon restart: open files and saves go on in another process%s',
  (_, env) =>
    staged(60, async (stage) => {
      const folder = await stage.mount({ env });
      const first = await running(stage);
      expect(first.resend).toBe(env !== WITHOUT_RESEND);
      expect((await stage.mend(['status'])).stdout).toContain(
        first.resend ? ', can send requests again\n' : ', cannot send requests again: mounts are made anew',
      );
      const agent = await stage.agent();
      await agent.run((fs, own, dir) => {
        fs.writeFileSync(`${dir}/old.md`, 'old');
        own['old'] = fs.openSync(`${dir}/old.md`, 'r');
        own['new'] = fs.openSync(`${dir}/new.md`, 'a');
      }, folder);
      await stage.sh('printf newer >"$1/old.md"', folder);
      let before = first.pid;
      for (let turn = 1; turn <= 3; turn++) {
        const said = (await stage.mend(['daemon', 'restart'])).stdout;
        const { pid, supervisor } = await running(stage);
        expect(said).toMatch(new RegExp(`^mend \\S+ serves, process ${pid}\n$`));
        expect([supervisor, pid === before]).toEqual([first.supervisor, false]);
        await gone(before);
        before = pid;
        await agent.run((fs, own, text) => void fs.writeSync(own['new'] ?? -1, text), `line ${turn}\n`);
      }
      // What was opened is shown as it was then.
      const shown = await agent.run((fs, own) => {
        const bytes = Buffer.alloc(99);
        return bytes.toString('utf8', 0, fs.readSync(own['old'] ?? -1, bytes, 0, 99, 0));
      });
      expect(shown).toBe('old');
      await agent.run((fs, own) => [own['new'], own['old']].map((fd) => fs.closeSync(fd ?? -1)));
      expect(await stage.sh('cat "$1/new.md" "$1/old.md"', folder)).toBe('line 1\nline 2\nline 3\nnewer');
      expect(await stage.kinds('new.md')).toEqual(['saved']);
      expect(await stage.kinds('old.md')).toEqual(['saved', 'saved']);
      expect(logOf(stage)).not.toContain('the server died');
      await stage.mend(['unmount']);
      await Promise.all([gone(before), gone(first.supervisor)]);
    })(),
  80_000,
);

test(
  'two restarts at once: both are told when the new process does not start, and both end well when it does',
  staged(60, async (stage) => {
    const folder = await stage.mount();
    const { pid, supervisor } = await running(stage);
    const children = () => readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'latin1').trim().split(' ');
    let areDone = false;
    const both = (status: number) =>
      Promise.all([1, 2].map(() => stage.mend(['daemon', 'restart'], { status }))).finally(() => {
        areDone = true;
      });
    const failed = both(1);
    for (; !areDone; await delay(20)) {
      const [next] = children()
        .map(Number)
        .filter((child) => child !== pid);
      if (next === undefined) continue;
      process.kill(next, 'SIGSTOP');
      // So that both wait for this one.
      await Promise.race([failed, delay(1500)]);
      process.kill(next, 'SIGKILL');
      await gone(next);
    }
    for (const { stderr } of await failed)
      expect(stderr).toMatch(
        /^mend: the daemon was not restarted, and the old one goes on: the new one did not start[^\n]+\n$/,
      );
    expect((await running(stage)).pid).toBe(pid);
    await stage.sh('echo text >"$1/note.md"', folder);
    for (const { stdout } of await both(0)) expect(stdout).toMatch(/^mend \S+ serves, process \d+\n$/);
    await gone(pid);
    expect(await stage.sh('cat "$1/note.md"', folder)).toBe('text\n');
    expect(logOf(stage)).not.toContain('the server died');
  }),
  80_000,
);

test(
  'SIGKILL of the server where the kernel cannot send requests again: it is mounted anew, and the log says so',
  staged(60, async (stage) => {
    const folder = await stage.mount({ env: WITHOUT_RESEND });
    await stage.sh('printf head >"$1/note.md"', folder);
    const agent = await stage.agent();
    await agent.run((fs, own, path) => {
      own['fd'] = fs.openSync(path, 'w');
      fs.writeSync(own['fd'], 'unfinished');
    }, `${folder}/note.md`);
    const { pid, supervisor } = await running(stage);
    process.kill(pid, 'SIGKILL');
    await until(async () => {
      const status = await stage.status();
      return ![pid, null].includes(status.pid) && status.mounts.length > 0;
    }, 'another server with the mount');
    expect(await stage.sh('cat "$1/note.md"', folder)).toBe('head');
    expect((await running(stage)).supervisor).toBe(supervisor);
    expect(await stage.contents('note.md', 'interrupted')).toEqual(['unfinished']);
    expect(await agent.code((fs, own) => fs.writeSync(own['fd'] ?? -1, 'x'))).toMatch(/^(ENOTCONN|ECONNABORTED)$/);
    expect(logOf(stage)).toContain('this kernel cannot send requests again');
    expect(leftoverMounts(stage.user.home)).toEqual([folder]);
  }),
  80_000,
);

test(
  'SIGKILL of the supervisor: the mounts are served on, and end with the process that serves them',
  staged(60, async (stage) => {
    const folder = await stage.mount();
    const agent = await stage.agent();
    await agent.run((fs, own, path) => {
      own['fd'] = fs.openSync(path, 'w');
      fs.writeSync(own['fd'], 'begun');
    }, `${folder}/note.md`);
    const { pid, supervisor } = await running(stage);
    process.kill(supervisor, 'SIGKILL');
    await gone(supervisor);
    await agent.run((fs, own) => {
      fs.writeSync(own['fd'] ?? -1, ', done');
      fs.closeSync(own['fd'] ?? -1);
    });
    expect(await stage.sh('cat "$1/note.md"', folder)).toBe('begun, done');
    const status = await stage.mend(['status', '--json']);
    expect(JSON.parse(status.stdout)).toMatchObject({ pid, supervisor_pid: null, kernel: { resend: false } });
    expect(status.stderr).toMatch(/^mend: the supervisor was ended, [^\n]+\n$/);
    expect((await stage.mend(['daemon', 'restart'], { status: 1 })).stderr).toMatch(/the supervisor is gone/);
    await stage.mend(['unmount']);
    await gone(pid);
    expect(await stage.sh('cat "$1/note.md"', folder)).toBe('begun, done');
    await stage.mount();
    expect((await running(stage)).resend).toBe(true);
  }),
  80_000,
);

test(
  'a server that dies each time it starts is given up: callers get an error, status says why, nothing is lost',
  staged(110, async (stage) => {
    const folder = await stage.mount();
    const agent = await stage.agent();
    await agent.run((fs, own, path) => {
      own['fd'] = fs.openSync(path, 'w');
      fs.writeSync(own['fd'], 'unfinished');
    }, `${folder}/note.md`);
    const { pid, supervisor } = await running(stage);
    await stage.sh('chmod 644 "$1"/store.db', stage.store);
    process.kill(pid, 'SIGKILL');
    const failed = agent.code((fs, own) => fs.writeSync(own['fd'] ?? -1, 'x'));
    expect(await failed).toMatch(/^(ENOTCONN|ECONNABORTED)$/);
    await gone(supervisor);
    await stage.sh('chmod 600 "$1"/store.db', stage.store);
    expect((await stage.mend(['status'])).stderr).toMatch(
      /^mend: the server died \d+ times in a row [^\n]+ \(others may read the store [^\n]+\nmend: .*lost/,
    );
    await stage.mount();
    expect((await stage.mend(['status'])).stderr).toBe('');
    expect(await stage.contents('note.md', 'interrupted')).toEqual(['unfinished']);
    expect(isRunning(supervisor)).toBe(false);
  }),
  130_000,
);
