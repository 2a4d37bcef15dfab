import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { programFolder } from '../support/program.js';
import type { RunResult } from '../support/users.js';
import { harnessShell, shared } from './agent.js';
import { type Stage, staged } from './stage.js';

/** Names, lengths and contents as a mount shows them. */
const shown = (stage: Stage, folder: string) =>
  stage.sh('cd "$1"; find . -type f ! -name "*.tmp*" -printf "%P %s " -exec sha256sum {} ";" | sort', folder);

/** What the store says of itself; nothing in it may be left over. */
const AUDIT = `
  const db = require('better-sqlite3')(process.argv[1] + '/store.db', { readonly: true });
  const count = (sql) => db.prepare(sql).pluck().get();
  console.log(JSON.stringify({
    integrity: db.pragma('integrity_check', { simple: true }),
    drafts: count('SELECT count(*) FROM draft'),
    writes: count('SELECT count(*) FROM draft_write'),
    unsaved: count("SELECT count(*) FROM node WHERE kind = 'file' AND mount = 0 AND parent IS NOT NULL AND content IS NULL"),
    lost: count('SELECT count(*) FROM node WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM node)'),
    missing: count('SELECT count(*) FROM node WHERE content IS NOT NULL AND content NOT IN (SELECT id FROM content)')
      + count('SELECT count(*) FROM version WHERE content NOT IN (SELECT id FROM content)'),
    blocks: count('SELECT count(*) FROM local_block WHERE id / 1048576 NOT IN (SELECT id FROM node)'),
    wrongSize: count('SELECT count(*) FROM node n JOIN content c ON c.id = n.content WHERE n.size <> c.size'),
  }))`;

test(
  'six sessions at once on two mounts, some of them killed: nothing is torn, both mounts and the store agree, nothing is left over',
  staged(80, async (stage) => {
    const second = join(stage.user.home, 'second');
    await stage.sh('mkdir "$1"', second);
    const folders = [await stage.mount(), await stage.mount({ home: second })];
    const hammer = shared('hammer.mjs', join(import.meta.dirname, 'hammer.mjs'));
    const runs = Array.from({ length: 6 }, (_, index): Promise<RunResult> => {
      const args = [hammer, folders[index % 2] ?? '', String(index + 1), '8000'];
      return stage.user.run([harnessShell(), '-c', '"$0" "$@"; exit $?', process.execPath, ...args], { cwd: '/' });
    });
    const victims = (async () => {
      for (let index = 0; index < 12; index++) {
        const victim = stage.user.spawn(
          [process.execPath, hammer, folders[index % 2] ?? '', String(100 + index), '20000'],
          {
            cwd: '/',
            stdio: ['ignore', 'ignore', 'inherit'],
          },
        );
        await delay(300 + 37 * index);
        victim.kill('SIGKILL');
      }
    })();
    for (const { code, stderr, stdout } of await Promise.all(runs)) {
      expect([code, stderr]).toEqual([0, '']);
      expect(Number(stdout)).toBeGreaterThan(100);
    }
    await victims;

    const [one, two] = [await shown(stage, folders[0] ?? ''), await shown(stage, folders[1] ?? '')];
    expect(one).toBe(two);
    const status = await stage.status();
    expect(status.sessions).toEqual([]);
    const listed = await stage.json<{ file: string; bytes: number }[]>(['memory']);
    const lines = one.split('\n').filter((line) => line !== '');
    expect(listed.map(({ file, bytes }) => `${file} ${bytes}`).sort()).toEqual(
      lines.map((line) => line.split(' ').slice(0, 2).join(' ')).sort(),
    );
    for (const { files, bytes } of status.mounts) {
      expect([files, bytes]).toEqual([listed.length, listed.reduce((sum, row) => sum + row.bytes, 0)]);
    }
    const free = await stage.sh('stat -f -c "%b %f %c %d" "$1"', folders[0] ?? '');
    const used = listed.reduce((sum, row) => sum + row.bytes, 0);
    expect(free.trim()).toBe(`8192 ${Math.floor((8192 * 4096 - used) / 4096)} 2000 ${2000 - listed.length}`);
    // A daemon that starts afresh shows the same.
    await stage.endDaemon('SIGKILL');
    const again = await stage.mount();
    expect(await shown(stage, again)).toBe(one);
    const audit = await stage.user.run([process.execPath, '-e', AUDIT, stage.store], { cwd: programFolder() });
    expect(audit).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(audit.stdout)).toEqual({
      ...{ integrity: 'ok', drafts: 0, writes: 0, unsaved: 0, lost: 0, missing: 0, wrongSize: 0, blocks: 0 },
    });
  }),
  120_000,
);
