import { join } from 'node:path';
import { expect, it } from 'vitest';
import { withDeadline } from '../support/mounted.js';
import { SESSION_TIMEOUT_MS } from './session.js';
import { withClaudeCode } from './with-claude-code.js';

/** Room for the sessions of one test and the commands around them. */
const TIMEOUT_MS = 4 * SESSION_TIMEOUT_MS;
/** What the interactive program shows when it waits for words. */
const WAITS = /shortcuts|Try "|❯/;

interface NamedSession {
  readonly session: string;
  readonly running: boolean;
  readonly processes: readonly number[];
}

withClaudeCode(', with mend run', TIMEOUT_MS, (place) => {
  const sessions = async (): Promise<NamedSession[]> =>
    JSON.parse(await place.workspace.mend(place.home.path, 'session', 'list', '--json')) as NamedSession[];

  it('mounts, saves under the name of the session, and passes arguments, input and output on', async () => {
    await place.workspace.mend(place.home.path, 'unmount', '--all');
    const path = join(place.home.memory, 'beds.md');
    const session = await place.workspace.session(
      place.home,
      async function* () {
        yield { tool: 'Write', input: { file_path: path, content: 'Four beds.\n' } };
        yield { tool: 'Bash', input: { command: `echo More by a shell. >> '${path}'`, description: 'Adds a line' } };
        return 'Saved.';
      },
      place.workspace.repository,
      place.workspace.launcher('--session', 'beds'),
    );
    expect(session.results.map(({ failed }) => failed)).toEqual([false, expect.any(Boolean)]);
    const savers = (await place.workspace.versions(place.home, 'beds.md')).map((version) => version.session);
    expect(new Set(savers)).toEqual(new Set(['beds']));
    expect(await sessions()).toMatchObject([{ session: 'beds', running: false, processes: [] }]);
  });

  it('goes on with a session: what it wrote from memory keeps what others saved meanwhile', async () => {
    const path = join(place.home.memory, 'MEMORY.md');
    await place.workspace.put(path, '- tulips\n');
    const named = place.workspace.launcher('--session', 'index');
    const first = await place.workspace.session(
      place.home,
      async function* () {
        yield { tool: 'Read', input: { file_path: path } };
        return 'Read.';
      },
      place.workspace.repository,
      named,
    );
    expect(first.opening).toContain('tulips');
    await place.workspace.put(path, '- tulips\n- roses, by somebody else\n');
    const content = '- peonies\n- tulips\n';
    await place.workspace.session(
      place.home,
      async function* () {
        // The program reads the index again as it starts; the model goes on from what it knew.
        yield { tool: 'Write', input: { file_path: path, content } };
        return 'Written.';
      },
      place.workspace.repository,
      named,
    );
    expect(await place.workspace.read(path)).toBe('- peonies\n- tulips\n- roses, by somebody else\n');
  });

  it('leaves the terminal of the interactive program as it was, stops and goes on, and ends with it', async () => {
    const path = join(place.home.memory, 'ponds.md');
    const state = JSON.stringify({
      hasCompletedOnboarding: true,
      theme: 'dark',
      customApiKeyResponses: { approved: ['a-key-for-the-stub'.slice(-20)], rejected: [] },
      projects: { [place.workspace.repository]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    });
    await place.workspace.put(join(place.home.path, '.claude.json'), state);
    const { command, env } = place.workspace.launcher('--session', 'ponds');
    const words = command.map((word) => `'${word}'`).join(' ');
    const conversation = place.workspace.converse(async function* () {
      yield { tool: 'Write', input: { file_path: path, content: 'One pond.\n' } };
      return 'Finished.';
    });
    const typist = place.workspace.terminal(place.home, env);
    await withDeadline(150, [place.home.memory], async () => {
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
        expect(await place.workspace.read(path)).toBe('One pond.\n');
        await typist.type('\x03', /Ctrl-C/);
        await typist.type('\x03', /> $/);
        await typist.type('echo status $?\r', /status 0/);
        expect(await modes()).toBe(before);
      } finally {
        await typist.end();
      }
    });
    const savers = (await place.workspace.versions(place.home, 'ponds.md')).map((version) => version.session);
    expect(new Set(savers)).toEqual(new Set(['ponds']));
    expect(await sessions()).toContainEqual(expect.objectContaining({ session: 'ponds', running: false }));
  });
});
