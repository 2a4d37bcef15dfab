import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withDeadline } from '../support/mounted.js';
import { CODEX_VERSION, installCodex } from './codex-program.js';
import { type CodexEnvironment, CodexWorkspace } from './codex-workspace.js';
import { MARKER } from './responses-stub.js';

/** Seconds after which a mount that does not answer is taken away, so that what waits for it ends. */
const DEADLINE_S = 280;
const TIMEOUT_MS = (DEADLINE_S + 20) * 1000;

const program = process.env['MEND_HARNESS'] ? await installCodex() : { unreachable: 'MEND_HARNESS is not set' };
const skipped = 'unreachable' in program ? ` (skipped: ${program.unreachable})` : '';
if (skipped) console.warn(`Codex ${CODEX_VERSION}${skipped}`);

const VERSIONS = [
  ['v1', 'memories', 'memories_1.sqlite'],
  ['v2', 'memories_v2', 'memories_v2_1.sqlite'],
] as const;

describe.skipIf(skipped).each(VERSIONS)(`Codex ${CODEX_VERSION}${skipped}, memory %s`, (version, root, database) => {
  let workspace: CodexWorkspace;
  let first: CodexEnvironment;
  let conversations: string[];
  /** What the user's settings were before anything ran. */
  let settings: string;
  let summaries: string[];

  beforeAll(async () => {
    if ('unreachable' in program) throw new Error(program.unreachable);
    workspace = await CodexWorkspace.open(program.binary);
    await workspace.makeHome(workspace.home, version);
    settings = readFileSync(join(workspace.home, '.codex/config.toml'), 'utf8');
    first = await workspace.env(workspace.home);
    conversations = await workspace.layConversations(workspace.home, first.environment.CODEX_HOME, 2);
  }, TIMEOUT_MS);

  afterAll(() => workspace?.close(), TIMEOUT_MS);

  const mounted = <T>(env: CodexEnvironment, work: () => Promise<T>): Promise<T> =>
    withDeadline(DEADLINE_S, [env.memory], work);

  it(
    'learns from earlier conversations with what mend gives it, and nothing is written to the settings',
    async () => {
      const home = first.environment.CODEX_HOME;
      expect((await workspace.names(home)).filter((name) => /^memories/.test(name))).toEqual([root]);
      await mounted(first, async () => {
        const session = workspace.start(workspace.home);
        expect(await session.turn(workspace.repository)).toBe('completed');
        await workspace.consolidated(workspace.home, home, database);
        expect(await session.end()).toBe(0);
      });
      expect(readFileSync(join(workspace.home, '.codex/config.toml'), 'utf8')).toBe(settings);
      expect((await workspace.names(home)).filter((name) => /^memories(_v2)?$/.test(name))).toEqual([root]);
      summaries = await workspace.names(join(first.memory, 'rollout_summaries'));
      expect(summaries).toHaveLength(2);
      expect(workspace.stub.asked.map(({ asker }) => asker).sort()).toEqual([
        'consolidation',
        'consolidation',
        'summary',
        'summary',
        'turn',
      ]);
    },
    TIMEOUT_MS,
  );

  it(
    'has its files in the list, and what it keeps for itself in the folder alone',
    async () => {
      const listed = JSON.parse(await workspace.mend(workspace.home, 'memory', '--json')) as {
        readonly harness: string;
        readonly file: string;
      }[];
      const files = listed.map(({ file }) => file);
      expect(new Set(listed.map(({ harness }) => harness))).toEqual(new Set(['codex']));
      expect(files).toEqual(expect.arrayContaining(['MEMORY.md', 'memory_summary.md', 'skills/water/SKILL.md']));
      for (const name of summaries) expect(files).toContain(`rollout_summaries/${name}`);
      const own = (await workspace.names(first.memory)).filter((name) => /^\.|phase2/.test(name));
      expect(own).not.toEqual([]);
      expect(files.filter((file) => /(?:^|\/)\.|phase2_|\.lock$/.test(file))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'keeps every summary in a fresh home elsewhere, and is given the memory there',
    async () => {
      const other = join(workspace.home, 'elsewhere');
      await workspace.makeHome(other, version);
      const second = await workspace.env(other);
      const home = second.environment.CODEX_HOME;
      expect(home).not.toBe(first.environment.CODEX_HOME);
      expect((await workspace.names(home)).filter((name) => /^memories(_v2)?$/.test(name))).toEqual([root]);
      expect(await workspace.names(join(second.memory, 'rollout_summaries'))).toEqual(summaries);
      const before = workspace.stub.asked.length;
      await mounted(second, async () => {
        // By itself, with what `mend env` printed.
        const session = workspace.start(other, second);
        expect(await session.turn(workspace.repository)).toBe('completed');
        await workspace.consolidated(other, home, database);
        expect(await session.listed(workspace.repository)).toEqual(expect.arrayContaining(conversations));
        expect(await session.end()).toBe(0);
      });
      expect(await workspace.names(join(second.memory, 'rollout_summaries'))).toEqual(summaries);
      const asked = workspace.stub.asked.slice(before);
      // Nothing is summed up again, and the conversation begins with what was learned.
      expect(asked.map(({ asker }) => asker)).not.toContain('summary');
      expect(asked.find(({ asker }) => asker === 'turn')?.text).toContain(MARKER);
    },
    TIMEOUT_MS,
  );

  it(
    'leaves login and settings out of the store, also after an unmount',
    async () => {
      await workspace.mend(workspace.home, 'unmount', '--all');
      const script = 'grep -rlE "sk-login-of-the-gardener|requires_openai_auth" "$1" || test $? -eq 1';
      expect(await workspace.shell(workspace.home, script, workspace.store)).toBe('');
      const back = await workspace.names(join(first.environment.CODEX_HOME, root));
      expect(back).toEqual(expect.arrayContaining(['MEMORY.md', 'memory_summary.md', 'rollout_summaries']));
    },
    TIMEOUT_MS,
  );
});
