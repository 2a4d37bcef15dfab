import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLAUDE_CODE_VERSION, installClaudeCode } from './claude-code.js';
import { SESSION_TIMEOUT_MS } from './session.js';
import { type Home, Workspace } from './workspace.js';

/** Room for the sessions of one test and the commands around them. */
const TIMEOUT_MS = 5 * SESSION_TIMEOUT_MS;

const program = process.env['MEND_HARNESS'] ? await installClaudeCode() : { unreachable: 'MEND_HARNESS is not set' };
const skipped = 'unreachable' in program ? ` (skipped: ${program.unreachable})` : '';

describe.skipIf(skipped)(`Claude Code ${CLAUDE_CODE_VERSION}, shared${skipped}`, { timeout: TIMEOUT_MS }, () => {
  let workspace: Workspace;
  let home: Home;

  beforeAll(async () => {
    if ('unreachable' in program) throw new Error(program.unreachable);
    workspace = await Workspace.open(program.binary);
    await workspace.createRepository();
    home = await workspace.mount(workspace.home);
  }, TIMEOUT_MS);

  afterAll(() => workspace?.close(), TIMEOUT_MS);

  it('sees an empty folder from the next operation on, also when it is gone on with, until it is ended', async () => {
    const at = (name: string): string => join(home.memory, name);
    const [index, before, after] = [at('MEMORY.md'), at('before.md'), at('after.md')];
    const roses = workspace.launcher('--session', 'roses');
    await workspace.put(index, '- tulips in the orchard\n');
    const list = { tool: 'Bash', input: { command: `ls -A '${home.memory}' | wc -l`, description: 'Counts' } };
    const first = await workspace.session(
      home,
      async function* () {
        yield { tool: 'Read', input: { file_path: index } };
        yield { tool: 'Write', input: { file_path: before, content: 'Saved before.\n' } };
        await workspace.mend(home.path, 'session', 'share', 'roses');
        yield list;
        yield { tool: 'Read', input: { file_path: index } };
        yield { tool: 'Edit', input: { file_path: before, old_string: 'before', new_string: 'by others' } };
        yield { tool: 'Write', input: { file_path: after, content: 'Written by several.\n' } };
        yield { tool: 'Read', input: { file_path: after } };
        yield list;
        return 'Done.';
      },
      workspace.repository,
      roses,
    );
    expect(first.opening).toContain('tulips');
    const [read, write, none, unread, unchanged, written, own, one] = first.results;
    expect([read, write, written, own].map((result) => result?.failed)).toEqual([false, false, false, false]);
    expect([unread, unchanged].map((result) => result?.failed)).toEqual([true, true]);
    expect([none?.text.trim(), one?.text.trim()]).toEqual(['0', '1']);
    expect(own?.text).toContain('Written by several.');
    expect((await workspace.names(home.memory)).sort()).toEqual(['MEMORY.md', 'before.md']);
    expect(await workspace.read(before)).toBe('Saved before.\n');

    const again = await workspace.session(
      home,
      async function* () {
        yield { tool: 'Read', input: { file_path: before } };
        yield { tool: 'Read', input: { file_path: after } };
        return 'Read.';
      },
      workspace.repository,
      roses,
    );
    expect(again.opening).not.toContain('tulips');
    // The program itself may have begun an index of what it wrote.
    expect(again.results.map(({ failed }) => failed)).toEqual([true, false]);
    expect(await workspace.mend(home.path, 'memory', 'log')).not.toContain('after.md');

    await workspace.mend(home.path, 'session', 'end', 'roses');
    const fresh = await workspace.session(
      home,
      async function* () {
        yield { tool: 'Read', input: { file_path: after } };
        return 'Read.';
      },
      workspace.repository,
      roses,
    );
    expect(fresh.opening).toContain('tulips');
    expect(fresh.results.map(({ failed }) => failed)).toEqual([true]);
  });
});
