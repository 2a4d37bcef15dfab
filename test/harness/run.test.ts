import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withDeadline } from '../support/mounted.js';
import { CLAUDE_CODE_VERSION, installClaudeCode } from './claude-code.js';
import { SESSION_TIMEOUT_MS } from './session.js';
import { type Home, Workspace } from './workspace.js';

/** Room for the sessions of one test and the commands around them. */
const TIMEOUT_MS = 4 * SESSION_TIMEOUT_MS;
/** What the interactive program shows when it waits for words. */
const WAITS = /shortcuts|Try "|❯/;

const program = process.env['MEND_HARNESS'] ? await installClaudeCode() : { unreachable: 'MEND_HARNESS is not set' };
const skipped = 'unreachable' in program ? ` (skipped: ${program.unreachable})` : '';

interface NamedSession {
  readonly session: string;
  readonly running: boolean;
  readonly processes: readonly number[];
}

describe.skipIf(skipped)(`mend run Claude Code ${CLAUDE_CODE_VERSION}${skipped}`, { timeout: TIMEOUT_MS }, () => {
  let workspace: Workspace;
  let home: Home;

  beforeAll(async () => {
    if ('unreachable' in program) throw new Error(program.unreachable);
    workspace = await Workspace.open(program.binary);
    await workspace.createRepository();
    home = await workspace.mount(workspace.home);
  }, TIMEOUT_MS);

  afterAll(() => workspace?.close(), TIMEOUT_MS);

  const sessions = async (): Promise<NamedSession[]> =>
    JSON.parse(await workspace.mend(home.path, 'session', 'list', '--json')) as NamedSession[];

  it('mounts, saves under the name of the session, and passes arguments, input and output on', async () => {
    await workspace.mend(home.path, 'unmount', '--all');
    const path = join(home.memory, 'beds.md');
    const session = await workspace.session(
      home,
      async function* () {
        yield { tool: 'Write', input: { file_path: path, content: 'Four beds.\n' } };
        yield { tool: 'Bash', input: { command: `echo More by a shell. >> '${path}'`, description: 'Adds a line' } };
        return 'Saved.';
      },
      workspace.repository,
      workspace.launcher('--session', 'beds'),
    );
    expect(session.results.map(({ failed }) => failed)).toEqual([false, expect.any(Boolean)]);
    const savers = (await workspace.versions(home, 'beds.md')).map((version) => version.session);
    expect(new Set(savers)).toEqual(new Set(['beds']));
    expect(await sessions()).toMatchObject([{ session: 'beds', running: false, processes: [] }]);
  });

  it('goes on with a session: what it wrote from memory keeps what others saved meanwhile', async () => {
    const path = join(home.memory, 'MEMORY.md');
    await workspace.put(path, '- tulips\n');
    const named = workspace.launcher('--session', 'index');
    const first = await workspace.session(
      home,
      async function* () {
        yield { tool: 'Read', input: { file_path: path } };
        return 'Read.';
      },
      workspace.repository,
      named,
    );
    expect(first.opening).toContain('tulips');
    await workspace.put(path, '- tulips\n- roses, by somebody else\n');
    const content = '- peonies\n- tulips\n';
    await workspace.session(
      home,
      async function* () {
        // The program reads the index again as it starts; the model goes on from what it knew.
        yield { tool: 'Write', input: { file_path: path, content } };
        return 'Written.';
      },
      workspace.repository,
      named,
    );
    expect(await workspace.read(path)).toBe('- peonies\n- tulips\n- roses, by somebody else\n');
  });

  it('leaves the terminal of the interactive program as it was, stops and goes on, and ends with it', async () => {
    const path = join(home.memory, 'ponds.md');
    const state = JSON.stringify({
      hasCompletedOnboarding: true,
      theme: 'dark',
      customApiKeyResponses: { approved: ['a-key-for-the-stub'.slice(-20)], rejected: [] },
      projects: { [workspace.repository]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    });
    await workspace.put(join(home.path, '.claude.json'), state);
    const { command, env } = workspace.launcher('--session', 'ponds');
    const words = command.map((word) => `'${word}'`).join(' ');
    const conversation = workspace.converse(async function* () {
      yield { tool: 'Write', input: { file_path: path, content: 'One pond.\n' } };
      return 'Finished.';
    });
    const typist = workspace.terminal(home, env);
    await withDeadline(150, [home.memory], async () => {
      try {
        const modes = async () =>
          /modes ([0-9a-f]+:\S+)/.exec(await typist.type('echo modes $(stty -g)\r', /modes [0-9a-f]+:\S+/))?.[1];
        await typist.type('PS1="> "; stty rows 40 cols 140; echo shell $((40 + 2))\r', /shell 42/);
        const before = await modes();
        await typist.type(`${words}\r`, WAITS);
        expect(await sessions()).toContainEqual(expect.objectContaining({ session: 'ponds', running: true }));
        await typist.type('\x1a', /Stopped[\s\S]*> /);
        expect(await modes()).toBe(before);
        await typist.type('fg\r', WAITS);
        await typist.type(`This is ${conversation.token}.`, new RegExp(conversation.token));
        await typist.type('\r', /Finished\./);
        expect(await workspace.read(path)).toBe('One pond.\n');
        await typist.type('\x03', /Ctrl-C/);
        await typist.type('\x03', /> $/);
        await typist.type('echo status $?\r', /status 0/);
        expect(await modes()).toBe(before);
      } finally {
        await typist.end();
      }
    });
    const savers = (await workspace.versions(home, 'ponds.md')).map((version) => version.session);
    expect(new Set(savers)).toEqual(new Set(['ponds']));
    expect(await sessions()).toContainEqual(expect.objectContaining({ session: 'ponds', running: false }));
  });
});
