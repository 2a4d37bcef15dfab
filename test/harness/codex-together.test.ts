import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withDeadline } from '../support/mounted.js';
import { CODEX_VERSION, installCodex } from './codex-program.js';
import { CodexWorkspace } from './codex-workspace.js';

/** Seconds after which a mount that does not answer is taken away, so that what waits for it ends. */
const DEADLINE_S = 280;
const TIMEOUT_MS = (DEADLINE_S + 20) * 1000;
const DATABASE = 'memories_v2_1.sqlite';

const program = process.env['MEND_HARNESS'] ? await installCodex() : { unreachable: 'MEND_HARNESS is not set' };
const skipped = 'unreachable' in program ? ` (skipped: ${program.unreachable})` : '';
if (skipped) console.warn(`Codex ${CODEX_VERSION}${skipped}`);

describe.skipIf(skipped)(`Codex ${CODEX_VERSION}${skipped}, two sessions of a project at once`, () => {
  let workspace: CodexWorkspace;

  beforeAll(async () => {
    if ('unreachable' in program) throw new Error(program.unreachable);
    workspace = await CodexWorkspace.open(program.binary);
  }, TIMEOUT_MS);

  afterAll(() => workspace?.close(), TIMEOUT_MS);

  it(
    'sum up in one home, and neither loses what the other one did',
    async () => {
      await workspace.makeHome(workspace.home, 'v2');
      const { environment, memory } = await workspace.env(workspace.home);
      const home = environment.CODEX_HOME;
      const held = await workspace.layConversations(workspace.home, home, 2);
      await withDeadline(DEADLINE_S, [memory], async () => {
        const one = workspace.start(workspace.home);
        const turn = one.turn(workspace.repository);
        // The other one has something to sum up that the first may not see any more.
        held.push(...(await workspace.layConversations(workspace.home, home, 2, 2)));
        const other = workspace.start(workspace.home);
        expect(await Promise.all([turn, other.turn(workspace.repository)])).toEqual(['completed', 'completed']);
        await workspace.consolidated(workspace.home, home, DATABASE);
        await workspace.summedUp(workspace.home, home, DATABASE, held);
        expect(await Promise.all([one.end(), other.end()])).toEqual([0, 0]);
      });
      // A home that never consolidated does so with all that the store has.
      const elsewhere = join(workspace.home, 'elsewhere');
      await workspace.makeHome(elsewhere, 'v2');
      const fresh = await workspace.env(elsewhere);
      await withDeadline(DEADLINE_S, [fresh.memory], async () => {
        const session = workspace.start(elsewhere);
        expect(await session.turn(workspace.repository)).toBe('completed');
        await workspace.consolidated(elsewhere, fresh.environment.CODEX_HOME, DATABASE);
        await workspace.summedUp(elsewhere, fresh.environment.CODEX_HOME, DATABASE, held);
        expect(await session.end()).toBe(0);
      });
      const folder = join(fresh.memory, 'rollout_summaries');
      const script = 'cat "$1"/*.md | sed -n "s/^thread_id: //p" | sort';
      expect((await workspace.shell(workspace.home, script, folder)).trim().split('\n')).toEqual([...held].sort());
      expect(workspace.stub.asked.filter(({ asker }) => asker === 'summary')).toHaveLength(held.length);
    },
    TIMEOUT_MS,
  );
});
