import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { isRoot } from '../support/users.js';
import { begin, end } from './agent-work.js';
import { onSmallDisk } from './small-disk.js';
import { gone, killDaemon, type Stage, staged, until } from './stage.js';

/** Waits until a change of a file is refused, and gives back the code. */
async function refusal(stage: Stage, folder: string): Promise<string> {
  let said = '';
  await until(async () => {
    said = await stage.sh('LC_ALL=C; (echo more | cat >>"$1/other.md") 2>&1 || true', folder);
    return said !== '';
  }, 'a write to be refused');
  return said;
}

const rescued = (stage: Stage): string[] => readdirSync(stage.store).filter((name) => name.endsWith('.rescued'));

/** Texts of heads in a store's file, by path, without mend. */
function headsIn(file: string): Record<string, string> {
  const db = new Database(file, { readonly: true });
  try {
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    const rows = db
      .prepare<[], { name: string; bytes: Buffer }>(
        "SELECT n.name, c.bytes FROM node n JOIN content c ON c.id = n.content WHERE n.kind = 'file' AND n.parent IS NOT NULL",
      )
      .all();
    return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes.toString()]));
  } finally {
    db.close();
  }
}

/** A store with two files in it, and a third that somebody is about to write. */
async function scene(stage: Stage) {
  const folder = await stage.mount();
  await stage.sh('echo note >"$1/note.md"; echo other >"$1/other.md"', folder);
  const agent = await stage.agent();
  await begin(agent, `${folder}/open.md`, 'written before');
  return { folder, agent, file: join(stage.store, 'store.db') };
}

test(
  'moved away: reading goes on, writing is refused and said to be, and all goes on once it is back',
  staged(120, async (stage) => {
    const { folder, agent, file } = await scene(stage);
    const { pid } = await stage.status();
    await stage.sh('mv "$1" "$1.away"', file);
    expect(await refusal(stage, folder)).toMatch(/Input\/output error/);
    expect(await stage.sh('cat "$1/note.md"; ls "$1"', folder)).toBe('note\nnote.md\nopen.md\nother.md\n');
    const said =
      /store\.db was moved, removed or replaced while it is in use.*: put it back, or run "mend unmount --all"/;
    expect((await stage.mend(['status'])).stderr).toMatch(said);
    for (const command of [['memory'], ['memory', 'rm', 'note.md'], ['project', 'list'], ['mount']])
      expect((await stage.mend(command, { status: 1 })).stderr, command.join(' ')).toMatch(said);
    expect((await stage.mend(['doctor'], { status: 3 })).stdout).toMatch(said);
    // Nobody has made another one in its place.
    expect(readdirSync(stage.store)).not.toContain('store.db');
    await stage.sh('mv "$1.away" "$1"', file);
    await stage.sh('echo more >>"$1/note.md"', folder);
    await end(agent);
    expect(await stage.sh('cat "$1/note.md" "$1/open.md"', folder)).toBe('note\nmore\nwritten before');
    expect((await stage.status()).pid).toBe(pid);
    expect(await stage.show('open.md')).toBe('written before');
  }),
  180_000,
);

test(
  'removed: what it had is saved beside it, memory goes back into the plain folder, and the copy can take its place',
  staged(120, async (stage) => {
    const { folder, file } = await scene(stage);
    await stage.sh('rm "$1"', file);
    expect(await refusal(stage, folder)).toMatch(/Input\/output error/);
    await until(() => rescued(stage).length === 1, 'the store to be saved');
    const copy = join(stage.store, rescued(stage)[0] ?? '');
    // Everything that was acknowledged, up to the first refusal.
    const other = await stage.sh('cat "$1/other.md"', folder);
    expect(headsIn(copy)).toEqual({ 'note.md': 'note\n', 'other.md': other });
    expect(await stage.sh('stat -c %a "$1"', copy)).toBe('600\n');
    await stage.mend(['unmount', '--all', '--force'], { status: 3 });
    expect(await stage.sh('cat "$1/note.md" "$1/other.md"', folder)).toBe(`note\n${other}`);
    await until(async () => (await stage.status()).pid === null, 'the daemon to end');
    await stage.sh('rm -f "$1"-wal "$1"-shm; mv "$2" "$1"', file, copy);
    await stage.mount();
    expect(await stage.sh('cat "$1/note.md" "$1/other.md"', folder)).toBe(`note\n${other}`);
    expect(await stage.contents('open.md', 'interrupted')).toEqual(['written before']);
  }),
  180_000,
);

test(
  'another store in its place: not a byte of it changes, and it is the store once the daemon is gone',
  staged(120, async (stage) => {
    const elsewhere = join(stage.user.home, 'other-store');
    const other = { env: { MEND_STORE_DIR: elsewhere } };
    const { folder, file } = await scene(stage);
    await stage.mend(['project', 'new', '--name', 'another'], { ...other, status: 2 });
    await stage.sh('cp "$1" "$2"; mkdir "$3"', file, `${file}.copy`, elsewhere);
    const db = new Database(`${file}.copy`);
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
    const sum = () => stage.sh('sha256sum <"$1"', file);
    await stage.sh('rm -f "$1.copy-wal" "$1.copy-shm"; chmod 600 "$1.copy"; mv "$1.copy" "$1"', file);
    const before = await sum();
    expect(await refusal(stage, folder)).toMatch(/Input\/output error/);
    expect((await stage.mend(['memory'], { status: 1 })).stderr).toMatch(/was moved, removed or replaced/);
    await stage.mend(['status']);
    await stage.mend(['unmount', '--all', '--force'], { status: 3 });
    await until(async () => (await stage.status()).pid === null, 'the daemon to end');
    expect(await sum()).toBe(before);
    await stage.mount();
    expect(await stage.sh('cat "$1/note.md"', folder)).toBe('note\n');
  }),
  180_000,
);

test(
  'its folder becomes a link to another folder: nothing is written there',
  staged(120, async (stage) => {
    const { folder } = await scene(stage);
    await stage.sh('mkdir -m 700 "$1.other"; mv "$1" "$1.away"; ln -s "$1.other" "$1"', stage.store);
    expect(await refusal(stage, folder)).toMatch(/Input\/output error/);
    expect((await stage.mend(['memory'], { status: 1 })).stderr).toMatch(/is not a folder: move it away/);
    expect(await stage.sh('ls -A "$1.other"', stage.store)).toBe('');
    await stage.sh('rm "$1"; mv "$1.away" "$1"', stage.store);
    await stage.sh('echo more >>"$1/note.md"', folder);
    expect(await stage.show('note.md')).toBe('note\nmore\n');
  }),
  180_000,
);

test(
  'its log is removed: another server takes over, no call fails, and nothing that was written is lost',
  staged(120, async (stage) => {
    const { folder, agent, file } = await scene(stage);
    const { pid } = await stage.status();
    await stage.sh('rm "$1-wal"', file);
    await until(async () => {
      const status = await stage.status();
      return status.pid !== null && status.pid !== pid;
    }, 'another server to take over');
    await stage.sh('echo more >>"$1/note.md"', folder);
    await end(agent);
    expect(await stage.sh('cat "$1/note.md" "$1/other.md" "$1/open.md"', folder)).toBe(
      'note\nmore\nother\nwritten before',
    );
    expect(readdirSync(stage.store)).toContain('store.db-wal');
    await stage.endDaemon('SIGKILL');
    await stage.mount();
    expect(await stage.sh('cat "$1/note.md" "$1/open.md"', folder)).toBe('note\nmore\nwritten before');
  }),
  180_000,
);

test(
  'cut short: the mount answers errors and stays, and no later mend takes the file for sound',
  staged(120, async (stage) => {
    const { folder, file } = await scene(stage);
    await stage.sh('for i in $(seq 60); do head -c 20000 /dev/urandom >"$1/$i.bin"; done', folder);
    const { pid, supervisor_pid: supervisor } = await stage.status();
    await stage.sh('truncate -s 20000 "$1"', file);
    const script = '(cat "$1"/*.bin >/dev/null) 2>&1 || true; (echo x | cat >>"$1/note.md") 2>&1 || true';
    for (const line of (await stage.sh(script, folder)).split('\n')) expect(line).toMatch(/^$|Input\/output error$/);
    expect(await stage.sh('ls "$1" | wc -l', folder)).toBe('63\n');
    await killDaemon({ pid: pid ?? 0, supervisor: supervisor ?? 0 });
    expect((await stage.mend(['mount'], { status: 1 })).stderr).toMatch(/store\.db is damaged/);
  }),
  180_000,
);

test(
  'another store in its place, and the server dies before anybody notices: nothing goes on with it, nor with the log',
  staged(120, async (stage) => {
    const { folder, file } = await scene(stage);
    await stage.sh('cp "$1" "$1.other"; chmod 600 "$1.other"; ln "$1" "$1.own"', file);
    // A copy of a moment ago, without its log, as somebody puts one there who knows of no daemon.
    const other = await stage.sh('sha256sum <"$1"', `${file}.other`);
    const { pid, supervisor_pid: supervisor } = await stage.status();
    process.kill(pid ?? 0, 'SIGSTOP');
    await stage.sh('mv -f "$1.other" "$1"', file);
    process.kill(pid ?? 0, 'SIGKILL');
    const log = () => readFileSync(join(stage.store, 'daemon.log'), 'utf8');
    await until(() => /daemon did not start.*was moved, removed or replaced/.test(log()), 'the next one to refuse it');
    process.kill(supervisor ?? 0, 'SIGKILL');
    await gone(supervisor ?? 0);
    expect(await stage.sh('sha256sum <"$1"', file)).toBe(other);
    const said = /store\.db is not the one that the log beside it belongs to: put that one back, or move \S+-wal away/;
    for (const command of [['mount'], ['memory', 'rm', 'note.md'], ['store', 'backup']])
      expect((await stage.mend(command, { status: 1 })).stderr, command.join(' ')).toMatch(said);
    expect((await stage.mend(['doctor'], { status: 3 })).stdout).toMatch(said);
    expect(await stage.sh('sha256sum <"$1"', file)).toBe(other);
    await stage.sh('mv -f "$1" "$1.other"; mv "$1.own" "$1"', file);
    await stage.mount();
    expect(await stage.sh('cat "$1/note.md" "$1/other.md"', folder)).toBe('note\nother\n');
    expect(await stage.contents('open.md', 'interrupted')).toEqual(['written before']);
    // The other way out, and a restored backup, which brings no log.
    await stage.endDaemon('SIGKILL');
    await stage.sh('mv -f "$1.other" "$1"; mv "$1-wal" "$1-wal.away"', file);
    await stage.mend(['status']);
  }),
  180_000,
);

test(
  'mend daemon restart while another store is in its place: it is refused, and the server stays',
  staged(60, async (stage) => {
    const { folder, agent, file } = await scene(stage);
    const { pid } = await stage.status();
    await stage.sh('mv "$1" "$1.away"; cp "$1.away" "$1"', file);
    expect((await stage.mend(['daemon', 'restart'], { status: 1 })).stderr).toMatch(/was moved, removed or replaced/);
    expect(await stage.sh('cat "$1/note.md"', folder)).toBe('note\n');
    await stage.sh('mv -f "$1.away" "$1"', file);
    await stage.mend(['daemon', 'restart']);
    await end(agent);
    expect(await stage.show('open.md')).toBe('written before');
    expect((await stage.status()).pid).not.toBe(pid);
  }),
  90_000,
);

test.runIf(isRoot)(
  'a lock on a file of another disk with the same number: the store is taken for what it is',
  onSmallDisk(60, async (stage) => {
    const other = join(stage.user.home, 'other');
    const { ino } = statSync(join(stage.store, 'store.db-shm'));
    mkdirSync(other);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `mode=700,uid=${stage.user.uid}`, 'mend-other', other]);
    try {
      const script = `import fcntl, os, sys
for i in range(100000):
    with open(f"{sys.argv[1]}/{i}", "w") as file:
        if os.fstat(file.fileno()).st_ino != int(sys.argv[2]): continue
        fcntl.lockf(file, fcntl.LOCK_EX)
        print("locked", flush=True)
        sys.stdin.read()
        break`;
      const holder = stage.user.spawn(['/usr/bin/python3', '-c', script, other, String(ino)], { cwd: '/' });
      await once(holder.stdout as Readable, 'data');
      await stage.mend(['memory']);
      expect((await stage.mend(['status'])).stderr).toBe('');
      holder.stdin?.end();
      await once(holder, 'close');
    } finally {
      execFileSync('umount', ['--lazy', other]);
    }
  }),
  90_000,
);
