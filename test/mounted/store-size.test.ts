import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { staged, until } from './stage.js';
import { runFolder, withStore } from './with-store.js';

test(
  'of a file that is written whole a hundred times before it is closed, nothing stays but what is a version',
  staged(60, async (stage) => {
    const folder = await stage.mount();
    const agent = await stage.agent();
    await agent.run((fs, own, path) => {
      own['fd'] = fs.openSync(path, 'w');
      const bytes = Buffer.alloc(500_000, 'x');
      for (let round = 0; round < 100; round++) {
        bytes.write(`write ${round} `);
        fs.writeSync(own['fd'], bytes, 0, bytes.length, 0);
      }
    }, `${folder}/note.md`);
    // What the daemon does every half a minute, here at once, while the draft is still open and once it is closed.
    const sweep = () =>
      withStore(stage, (store) => {
        let swept = 0;
        for (let count = 1; count > 0; swept += count)
          count = store.write(() => store.contents.sweep(store.contents.unreferenced([]), []));
        const bytes = store.db.prepare('SELECT coalesce(sum(size), 0) FROM content').pluck().get() as number;
        return { swept, bytes };
      });
    const during = await sweep();
    expect(during.bytes).toBe(500_000);
    expect(await agent.run((fs, own) => fs.fstatSync(own['fd'] ?? -1).size)).toBe(500_000);
    await agent.run((fs, own) => fs.closeSync(own['fd'] ?? -1));
    const after = await sweep();
    expect(after.bytes).toBe(500_000);
    expect(during.swept + after.swept).toBeGreaterThanOrEqual(99);
    expect(await stage.sh('head -c 9 "$1"; wc -c <"$1"', `${folder}/note.md`)).toBe('write 99 500000\n');
    expect((await stage.log('note.md')).map(({ kind, bytes }) => [kind, bytes])).toEqual([['saved', 500_000]]);
  }),
  90_000,
);

test(
  'what a daemon plays for itself when it starts leaves nothing in the store, nor does one that was killed over it',
  staged(50, async (stage) => {
    const folder = await stage.mount();
    const rehearsals = () => readdirSync(runFolder(stage)).filter((name) => name.startsWith('rehearsal-'));
    const rows = () =>
      withStore(stage, ({ db }) => ({
        sessions: db.prepare('SELECT name FROM session').pluck().all() as string[],
        served: db.prepare('SELECT path FROM served').pluck().all(),
        trees: db.prepare('SELECT harness FROM tree').pluck().all(),
        versions: db.prepare('SELECT path FROM version').pluck().all(),
      }));
    await until(() => rehearsals().length === 0, 'the rehearsal to end');
    // Longer than the daemon waits with what it stores in the background.
    await delay(1200);
    expect(await rows()).toEqual({ sessions: [], served: [], trees: ['claude'], versions: [] });
    await stage.sh('echo text >"$1/note.md"; cat "$1/note.md"', folder);
    await delay(1200);
    const { sessions, ...others } = await rows();
    expect(others).toEqual({ served: ['note.md'], trees: ['claude'], versions: ['note.md'] });
    expect(sessions).toHaveLength(1);
    expect(rehearsals()).toEqual([]);

    const { pid } = await stage.status();
    await stage.endDaemon('SIGKILL');
    const [socket = ''] = readdirSync(runFolder(stage)).filter((name) => name.endsWith('.sock'));
    const left = `rehearsal-${socket.slice(0, -'.sock'.length)}-abcdef`;
    await stage.sh('mkdir "$1"; echo x >"$1/store.db"', `${runFolder(stage)}/${left}`);
    await stage.mount();
    expect((await stage.status()).pid).not.toBe(pid);
    expect(rehearsals()).not.toContain(left);
    await until(() => rehearsals().length === 0, 'the rehearsal to end');
    await delay(1200);
    expect((await rows()).served).toEqual(['note.md']);
  }),
  80_000,
);
