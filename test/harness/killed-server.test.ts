import { join } from 'node:path';
import { expect, it } from 'vitest';
import { deathsOf, gapsOf, killAtRandom, median } from '../mounted/survivor.js';
import { SESSION_TIMEOUT_MS } from './session.js';
import { withClaudeCode } from './with-claude-code.js';

/** Length of the run in seconds; `scripts/reliability` makes it longer. */
const SECONDS = Number(process.env['MEND_SURVIVE'] ?? 20);
/** Rows of sessions, each one after the other, that work on one index at once. */
const LANES = 2;
const TIMEOUT_MS = SECONDS * 1000 + 2 * SESSION_TIMEOUT_MS;

withClaudeCode('', TIMEOUT_MS, (place) => {
  /** One session: it adds a line to the index, writes a topic, and reads both. */
  async function save(lane: number, turn: number): Promise<void> {
    const [index, topic] = [join(place.home.memory, 'MEMORY.md'), join(place.home.memory, `lane-${lane}-${turn}.md`)];
    const line = (at: number): string => `- lane ${lane}: turn ${at}`;
    const session = await place.workspace.session(place.home, async function* () {
      yield { tool: 'Read', input: { file_path: index } };
      yield { tool: 'Edit', input: { file_path: index, old_string: line(turn - 1), new_string: line(turn) } };
      yield { tool: 'Write', input: { file_path: topic, content: `Learned in turn ${turn} of lane ${lane}.\n` } };
      yield { tool: 'Read', input: { file_path: topic } };
      return 'Saved.';
    });
    expect(session.results.filter(({ failed }) => failed)).toEqual([]);
    expect(session.opening).toContain(line(turn - 1));
    expect(session.results[3]?.text).toContain(`Learned in turn ${turn} of lane ${lane}.`);
  }

  it(`notices nothing of a server that is killed again and again for ${SECONDS} s`, async () => {
    const lanes = Array.from({ length: LANES }, (_, lane) => lane);
    const index = join(place.home.memory, 'MEMORY.md');
    await place.workspace.put(
      index,
      lanes.map((lane) => `- lane ${lane}: turn 0\n\n${'- beds: four\n'.repeat(5)}\n`).join(''),
    );
    const status = JSON.parse(await place.workspace.mend(place.home.path, 'status', '--json')) as {
      supervisor_pid: number;
    };
    const killing = killAtRandom(status.supervisor_pid, SECONDS);
    const end = Date.now() + SECONDS * 1000;
    const turns = await Promise.all(
      lanes.map(async (lane) => {
        let turn = 0;
        while (Date.now() < end) await save(lane, ++turn);
        return turn;
      }),
    );
    const kills = await killing;
    const saved = await place.workspace.read(index);
    for (const lane of lanes) {
      expect(saved).toContain(`- lane ${lane}: turn ${turns[lane]}\n`);
      for (let turn = 1; turn <= (turns[lane] ?? 0); turn++) {
        expect(await place.workspace.read(join(place.home.memory, `lane-${lane}-${turn}.md`))).toBe(
          `Learned in turn ${turn} of lane ${lane}.\n`,
        );
      }
    }
    expect(deathsOf(join(place.workspace.home, 'store'))).toBe(kills.length);
    expect(kills.length).toBeGreaterThan(SECONDS / 10);
    const gaps = gapsOf(join(place.workspace.home, 'store'));
    console.log(
      `kills ${kills.length} in ${SECONDS} s; pauses: median ${median(gaps)} ms, longest ${Math.max(...gaps)} ms; ` +
        `sessions of Claude Code ${turns.reduce((a, b) => a + b)}`,
    );
  });
});
