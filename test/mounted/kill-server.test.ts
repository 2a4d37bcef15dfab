import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { staged, until } from './stage.js';
import { deathsOf, killAtRandom, median, pausesOf, Survivor } from './survivor.js';

/** Length of the run in seconds; `scripts/reliability` makes it longer. */
const SECONDS = Number(process.env['MEND_SURVIVE'] ?? 15);

test.each([
  ['SIGKILL of the server at random', undefined],
  // Between a commit and what follows from it, and between that and the answer.
  ['SIGKILL of the server wherever an answer is due', '150'],
])(
  `%s for ${SECONDS} s: no call fails, nothing is lost, nothing is done twice`,
  (_, oneIn) =>
    staged(SECONDS + 90, async (stage) => {
      const folder = await stage.mount(oneIn === undefined ? {} : { env: { MEND_DIE_ONE_IN: oneIn } });
      const { supervisor_pid: supervisor } = await stage.status();
      if (supervisor === null) throw new Error('no supervisor runs');
      const plain = join(stage.user.home, 'plain');
      const home = join(stage.user.home, 'second');
      await stage.sh('mkdir "$1" "$3"; echo 0 >"$1/saved.md"; printf "turn 0\\n" >"$2/saved.md"', plain, folder, home);
      const second = await stage.mount({ home });
      const start = (role: string, name: string, place = folder) => Survivor.start(stage, role, place, name, plain);
      const roles = [
        ...[await start('append', 'log-1.md'), await start('append', 'log-2.md'), await start('hold', 'held.md')],
        ...[await start('rename', 'saved.md'), await start('watch', 'saved.md'), await start('old', 'saved.md')],
        ...[await start('folders', 'folder'), await start('edit', 'edited.md'), await start('names', 'name.md')],
        ...[await start('wait', 'wait.md'), await start('look', 'held.md'), await start('watch', 'saved.md', second)],
      ];
      const kills = await (oneIn === undefined ? killAtRandom(supervisor, SECONDS) : delay(SECONDS * 1000, undefined));
      const reports = await Promise.all(roles.map((role) => role.end()));
      expect(reports.flatMap(({ failed }) => failed ?? [])).toEqual([]);
      expect(deathsOf(stage.store)).toBeGreaterThan(SECONDS / 10);

      // Every save is there once: versions that follow each other are not the same.
      await until(async () => (await stage.status()).pid !== null, 'a server');
      for (const file of ['log-1.md', 'saved.md', 'edited.md']) {
        const all = await stage.log(file);
        // The appender begins anew when its file is long.
        const log = all.filter(({ kind }) => kind !== 'removed' || file !== 'log-1.md');
        expect(log.map(({ kind }) => kind).filter((kind) => kind !== 'saved')).toEqual([]);
        const texts = await Promise.all(log.map(({ version }) => stage.show(file, version)));
        expect(new Set(texts).size).toBe(texts.length);
      }
      const waits = reports.flatMap((report) => report.waits ?? []);
      const pauses = pausesOf(kills ?? [], waits);
      console.log(
        `kills ${deathsOf(stage.store)} in ${SECONDS} s; pauses: ${pauses.length === 0 ? '' : `median ${median(pauses)} ms, `}` +
          `longest ${Math.max(0, ...waits.map(([, took]) => took))} ms; appended ${reports.map(({ lines }) => lines ?? 0).reduce((a, b) => a + b)} lines`,
      );
      expect(await stage.sh('cd "$1"; find . -type f | sort', folder)).toBe(
        ['edited', 'held', 'log-1', 'log-2', 'saved', 'wait'].map((name) => `./${name}.md\n`).join(''),
      );
    })(),
  (SECONDS + 120) * 1000,
);
