import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Stage, staged, until } from './stage.js';
import { Survivor } from './survivor.js';
import { withStore } from './with-store.js';

/** Length of the run in seconds; `scripts/reliability` makes it longer. */
const SECONDS = Number(process.env['MEND_LONG_RUN'] ?? 24);
const MIB = 1024 * 1024;
/** What the server may take more at the end of a run than in its middle, in bytes: the engine tidies up when it likes. */
const SLACK = 48 * MIB;
/** Part of a page that is lost to its neighbours, and rows beside the contents, for each byte of content. */
const OVERHEAD = 0.5;
/**
 * Bytes of a row beside contents, with its place in indexes: versions of removed files too, which stay, what sessions know,
 * and the feed.
 */
const ROW = 400;
/** Room, in bytes, for pages that are not full. */
const ROOM = 2 * MIB;

interface Figures {
  readonly server: number;
  readonly supervisor: number;
  readonly descriptors: number;
  readonly store: number;
}

const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1024;

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

async function figures(stage: Stage): Promise<Figures> {
  const { pid, supervisor_pid: supervisor } = await stage.status();
  if (pid === null || supervisor === null) throw new Error('no daemon runs');
  return {
    server: memoryOf(pid),
    supervisor: memoryOf(supervisor),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    store: sizeOf(join(stage.store, 'store.db')),
  };
}

const line = (at: string, { server, supervisor, descriptors, store }: Figures): string =>
  `${at}: server ${(server / MIB).toFixed(1)} MiB, supervisor ${(supervisor / MIB).toFixed(1)} MiB, ` +
  `${descriptors} descriptors, store ${(store / MIB).toFixed(1)} MiB`;

test(
  `mixed load for ${SECONDS} s: memory, descriptors and the store do not grow`,
  staged(SECONDS + 100, async (stage) => {
    const folder = await stage.mount();
    const { pid: first } = await stage.status();
    const plain = join(stage.user.home, 'plain');
    await stage.sh('mkdir "$1"; echo 0 >"$1/saved.md"; printf "turn 0\\n" >"$2/saved.md"', plain, folder);
    const run = (role: string, name: string) => Survivor.start(stage, role, folder, name, plain);
    const roles = [
      ...[await run('append', 'log-1.md'), await run('append', 'log-2.md'), await run('hold', 'held.md')],
      ...[await run('rename', 'saved.md'), await run('watch', 'saved.md'), await run('old', 'saved.md')],
      ...[await run('folders', 'folder'), await run('edit', 'edited.md'), await run('names', 'name.md')],
      await run('sessions', 'program.md'),
    ];
    const start = await figures(stage);
    // What is loaded once is loaded: the spare server, the code of every operation.
    await delay((SECONDS * 1000) / 3);
    const begin = await figures(stage);
    await delay((SECONDS * 1000) / 3);
    const middle = await figures(stage);
    await delay((SECONDS * 1000) / 3);
    const end = await figures(stage);
    const reports = await Promise.all(roles.map((role) => role.end()));
    expect(reports.flatMap(({ failed }) => failed ?? [])).toEqual([]);
    console.log(
      [line('start', start), line('a third', begin), line('two thirds', middle), line('end', end)].join('\n'),
    );

    expect((await stage.status()).pid).toBe(first);
    expect(end.server - middle.server).toBeLessThan(SLACK);
    expect(end.supervisor - middle.supervisor).toBeLessThan(SLACK);
    // Each program has a few files open for a moment; a descriptor that is never closed adds up.
    expect(end.descriptors - begin.descriptors).toBeLessThanOrEqual(4);

    // Once what nobody points to is swept, the store holds what its versions hold.
    const count = () =>
      withStore(stage, (store) => {
        for (let swept = 1; swept > 0; )
          swept = store.write(() => store.contents.sweep(store.contents.unreferenced([]), []));
        const one = (sql: string): number => store.db.prepare(sql).pluck().get() as number;
        return {
          contents: one('SELECT coalesce(sum(size), 0) FROM content'),
          versions: one(
            `SELECT coalesce(sum(size), 0) FROM content WHERE id IN (SELECT content FROM version UNION
             SELECT content FROM node UNION SELECT base FROM draft UNION SELECT written FROM version)`,
          ),
          most: one('SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM version GROUP BY tree, path)'),
          pages: one(
            'SELECT (SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)',
          ),
          page: one('SELECT page_size FROM pragma_page_size'),
          rows: (
            store.db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[]
          ).reduce((sum, name) => sum + one(`SELECT count(*) FROM "${name}"`), 0),
        };
      });
    await until(async () => {
      const { contents, versions } = await count();
      return contents <= versions + ROOM;
    }, 'the store to hold no more than its versions');
    const kept = await count();
    console.log(
      `versions ${(kept.versions / MIB).toFixed(2)} MiB, ${kept.rows} rows, pages in use ${((kept.pages * kept.page) / MIB).toFixed(2)} MiB; ` +
        `lines appended ${reports.reduce((sum, { lines = 0 }) => sum + lines, 0)}, turns ${reports.reduce((sum, { turn = 0 }) => sum + turn, 0)}`,
    );
    // Twenty, and the one that is the head.
    expect(kept.most).toBeLessThanOrEqual(21);
    expect(kept.pages * kept.page).toBeLessThan(kept.versions * (1 + OVERHEAD) + kept.rows * ROW + ROOM);
  }),
  (SECONDS + 130) * 1000,
);
