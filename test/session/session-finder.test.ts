import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it, test } from 'vitest';
import { procProcesses } from '../../src/daemon/processes.js';
import { harnessOfProgram } from '../../src/harness/registry.js';
import { SessionFinder } from '../../src/session/session-finder.js';

const BOOT = 'this-boot';
const sh = realpathSync('/bin/sh');
let now: number;
let finder: SessionFinder;
let children: ChildProcess[];
let grandchildren: number[];

beforeEach(() => {
  now = 1_000_000;
  children = [];
  grandchildren = [];
  finder = newFinder();
});

afterEach(() => {
  for (const pid of grandchildren) if (pid > 1) end(pid);
  for (const child of children) child.kill('SIGKILL');
});

function newFinder(): SessionFinder {
  return new SessionFinder(
    procProcesses,
    () => now,
    BOOT,
    (executable) => harnessOfProgram(executable)?.name,
  );
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** Starts a program as the leader of a POSIX session of its own; it prints `pids` process ids, one a line. */
async function start(
  program: string,
  args: string[],
  pids = 0,
  argv0 = program,
): Promise<{ child: ChildProcess; pid: number; pids: number[] }> {
  const child = spawn(program, args, { detached: true, argv0, cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  if (child.pid === undefined) await once(child, 'error');
  let output = '';
  child.stdout?.setEncoding('utf8');
  while (output.split('\n').length <= pids) output += (await once(child.stdout as NodeJS.ReadableStream, 'data'))[0];
  const found = output.split('\n').slice(0, pids).map(Number);
  grandchildren.push(...found);
  return { child, pid: child.pid ?? 0, pids: found };
}

/** A copy of a program under the name of a harness. */
function asHarness(program: string, name = 'claude'): string {
  const copy = join(mkdtempSync(join(inject('runFolder'), 'harness-')), name);
  copyFileSync(program, copy);
  return copy;
}

const startTime = (pid: number): number | undefined => procProcesses.info(pid)?.start;
const keyOf = (pid: number): string => finder.find(pid).session.key;

describe('a POSIX session', () => {
  it('is the session of its leader and of what the leader starts', async () => {
    const { pid, pids } = await start(sh, ['-c', 'sleep 60 & echo $!; sleep 60 & echo $!; wait'], 2);
    const leader = finder.find(pid);
    expect(leader).toEqual({
      pid,
      session: { key: `${BOOT}/session/${pid}/${startTime(pid)}`, name: `session ${pid}` },
    });
    for (const child of pids) expect(finder.find(child)).toEqual({ pid: child, session: leader.session });
  });

  it('is another for another leader', async () => {
    const [first, second] = [await start('sleep', ['60']), await start('sleep', ['60'])];
    expect(keyOf(first.pid)).not.toBe(keyOf(second.pid));
  });

  it('is another for a process that left it', async () => {
    const { pid, pids } = await start(sh, ['-c', 'setsid sleep 60 & echo $!; wait'], 1);
    const [child = 0] = pids;
    await expect.poll(() => procProcesses.info(child)?.session).toBe(child);
    expect(keyOf(child)).not.toBe(keyOf(pid));
  });

  it('keeps its key when the leader has ended', async () => {
    const { child, pid, pids } = await start(sh, ['-c', 'sleep 60 & echo $!; sleep 60 & echo $!; read line'], 2);
    const [seen = 0, unseen = 0] = pids;
    const key = keyOf(seen);
    expect(key).toBe(`${BOOT}/session/${pid}/${startTime(pid)}`);
    child.stdin?.end();
    await once(child, 'exit');
    now += 1_000_000;
    expect(procProcesses.info(pid)).toBe(undefined);
    expect(keyOf(seen)).toBe(key);
    expect(keyOf(unseen)).toBe(key);
  });

  it('whose leader was never seen has one key for all of it', async () => {
    const { child, pid, pids } = await start(sh, ['-c', 'sleep 60 & echo $!; sleep 60 & echo $!; read line'], 2);
    child.stdin?.end();
    await once(child, 'exit');
    expect(pids.map(keyOf)).toEqual([`${BOOT}/session/${pid}/gone`, `${BOOT}/session/${pid}/gone`]);
  });
});

describe('a harness', () => {
  it('is found by the file it runs, and is the session of everything it starts', async () => {
    const { pid, pids } = await start(asHarness(sh), ['-c', 'sleep 60 & echo $!; setsid sleep 60 & echo $!; wait'], 2);
    const session = { key: `${BOOT}/claude/${pid}/${startTime(pid)}`, name: `claude ${pid}` };
    expect(finder.find(pid)).toEqual({ pid, session });
    const [, left = 0] = pids;
    for (const child of pids) await expect.poll(() => procProcesses.executable(child)).toMatch(/\/(sleep|coreutils)$/);
    await expect.poll(() => procProcesses.info(left)?.session).toBe(left);
    for (const child of pids) {
      // Not known while it is in execve(2).
      await expect.poll(() => startTime(child)).toBeTypeOf('number');
      expect(finder.find(child)).toEqual({ pid: child, session });
    }
  });

  it('that another harness started is a session of its own', async () => {
    const other = asHarness('/bin/sleep');
    const { pid, pids } = await start(asHarness(sh), ['-c', `${other} 60 & echo $!; wait`], 1);
    const [inner = 0] = pids;
    // Until execve(2) it is a copy of the one that starts it.
    await expect.poll(() => procProcesses.executable(inner)).toBe(other);
    // Not known while it is in execve(2).
    await expect.poll(() => startTime(inner)).toBeTypeOf('number');
    expect(keyOf(inner)).toBe(`${BOOT}/claude/${inner}/${startTime(inner)}`);
    expect(keyOf(pid)).toBe(`${BOOT}/claude/${pid}/${startTime(pid)}`);
  });

  it('without a memory folder is a session too', async () => {
    const { pid } = await start(asHarness('/bin/sleep', 'opencode'), ['60']);
    expect(finder.find(pid).session.name).toBe(`opencode ${pid}`);
  });

  it('is not what only says that it is one', async () => {
    const { pid } = await start('/bin/sleep', ['60'], 0, '/usr/bin/claude');
    expect(keyOf(pid)).toBe(`${BOOT}/session/${pid}/${startTime(pid)}`);
  });
});

describe('a process of a shared session', () => {
  const shared = (pid: number) => ({
    ...{ pid, start: startTime(pid) ?? 0, session: { key: 'named/shared', name: 'shared' } },
    shared: true as const,
  });

  it('is in it before any other session that is nearer', async () => {
    const { pid, pids } = await start(sh, ['-c', 'sh -c "echo \\$\\$; exec sleep 60" & wait'], 1);
    const [child = 0] = pids;
    const other = { pid: child, start: startTime(child) ?? 0, session: { key: 'named/other', name: 'other' } };
    finder.register([shared(pid), other]);
    expect(keyOf(child)).toBe('named/shared');
    finder.register([other]);
    expect(keyOf(child)).toBe('named/other');
  });

  it('stays in it without its parents while it is in the POSIX session that one of it began', async () => {
    const { child, pid, pids } = await start(sh, ['-c', 'sh -c "echo \\$\\$; exec sleep 60" & wait'], 1);
    const [orphan = 0] = pids;
    finder.register([shared(pid)]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(procProcesses.info(orphan)?.parent).not.toBe(pid);
    expect(keyOf(orphan)).toBe('named/shared');
  });
});

describe('a registered process', () => {
  const registered = (pid: number, name: string, start = startTime(pid)) => ({
    pid,
    start: start ?? 0,
    session: { key: `named/${name}`, name },
  });

  it('is the session of everything it starts, a harness included; the nearest one counts', async () => {
    const script = `${asHarness(sh)} -c 'sleep 60 & echo $!; setsid sleep 60 & echo $!; wait' & echo $!; wait`;
    const { pid, pids } = await start(sh, ['-c', script], 3);
    // A child is its parent's program until it has become another.
    const isHarness = (one: number) => procProcesses.executable(one)?.endsWith('/claude') === true;
    await expect.poll(() => pids.filter(isHarness)).toHaveLength(1);
    const harness = pids.find(isHarness) ?? 0;
    const others = pids.filter((one) => one !== harness);
    for (const child of others) await expect.poll(() => startTime(child)).toBeTypeOf('number');
    for (const one of pids) expect(finder.find(one).session.name).toBe(`claude ${harness}`);
    finder.register([registered(pid, 'outer')]);
    // At once: what was remembered counts no more.
    for (const one of [pid, ...pids])
      expect(finder.find(one)).toEqual({ pid: one, session: registered(pid, 'outer').session });
    finder.register([registered(pid, 'outer'), registered(harness, 'inner')]);
    expect(finder.find(pid).session.name).toBe('outer');
    for (const one of pids) expect(finder.find(one).session.name).toBe('inner');
    finder.register([]);
    expect(finder.find(pid).session.name).toBe(`session ${pid}`);
    for (const one of pids) expect(finder.find(one).session.name).toBe(`claude ${harness}`);
  });

  it('is known by its start: another one that has its id is not it', async () => {
    const { pid } = await start('sleep', ['60']);
    finder.register([registered(pid, 'before', (startTime(pid) ?? 0) - 1)]);
    expect(finder.find(pid).session.name).toBe(`session ${pid}`);
  });

  it('that ended has left its process known for what it was', async () => {
    const { child, pid } = await start('sleep', ['60']);
    finder.register([registered(pid, 'garden')]);
    const before = finder.find(pid);
    child.kill('SIGKILL');
    await once(child, 'exit');
    finder.register([]);
    expect(finder.find(pid)).toEqual(before);
  });
});

test('a thread is in the session of its process', async () => {
  const { pid } = await start(process.execPath, ['-e', 'console.log(process.pid); setTimeout(() => {}, 60000)'], 1);
  const threads = readdirSync(`/proc/${pid}/task`).map(Number);
  expect(threads.length).toBeGreaterThan(1);
  for (const thread of threads) expect(finder.find(thread)).toEqual(finder.find(pid));
});

test('nobody, and a process that is gone before it was seen, are unknown', async () => {
  const { child, pid } = await start('sleep', ['60']);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const unknown = { pid: 0, session: { key: 'unknown', name: 'unknown' } };
  expect(finder.find(0)).toEqual(unknown);
  expect(finder.find(pid)).toEqual(unknown);
});

test('a process that ended is still known for what it was', async () => {
  const { child, pid } = await start('sleep', ['60']);
  const before = finder.find(pid);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(finder.find(pid)).toEqual(before);
  now += 10_000_000;
  expect(finder.find(pid)).toEqual(before);
});

test('a process that becomes a harness is seen to be one soon after', async () => {
  const { child, pid } = await start(sh, ['-c', `read line; exec ${asHarness('/bin/sleep')} 60`]);
  expect(finder.find(pid).session.name).toBe(`session ${pid}`);
  child.stdin?.write('\n');
  await expect.poll(() => procProcesses.executable(pid)).toMatch(/\/claude$/);
  expect(finder.find(pid).session.name, 'within the time that it is trusted').toBe(`session ${pid}`);
  now += 100_000;
  expect(finder.find(pid).session.name).toBe(`claude ${pid}`);
});
