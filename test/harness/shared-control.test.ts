import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SESSION_TIMEOUT_MS } from './session.js';
import { withClaudeCode } from './with-claude-code.js';

/** Room for the sessions of one test and the commands around them. */
const TIMEOUT_MS = 5 * SESSION_TIMEOUT_MS;

withClaudeCode(', shared', TIMEOUT_MS, (place) => {
  it('sees an empty folder from the next operation on, also when it is gone on with, until it is ended', async () => {
    const at = (name: string): string => join(place.home.memory, name);
    const [index, before, after] = [at('MEMORY.md'), at('before.md'), at('after.md')];
    const roses = place.workspace.launcher('--session', 'roses');
    await place.workspace.put(index, '- tulips in the orchard\n');
    const list = { tool: 'Bash', input: { command: `ls -A '${place.home.memory}' | wc -l`, description: 'Counts' } };
    const first = await place.workspace.session(
      place.home,
      async function* () {
        yield { tool: 'Read', input: { file_path: index } };
        yield { tool: 'Write', input: { file_path: before, content: 'Saved before.\n' } };
        await place.workspace.mend(place.home.path, 'session', 'share', 'roses');
        yield list;
        yield { tool: 'Read', input: { file_path: index } };
        yield { tool: 'Edit', input: { file_path: before, old_string: 'before', new_string: 'by others' } };
        yield { tool: 'Write', input: { file_path: after, content: 'Written by several.\n' } };
        yield { tool: 'Read', input: { file_path: after } };
        yield list;
        return 'Done.';
      },
      place.workspace.repository,
      roses,
    );
    expect(first.opening).toContain('tulips');
    const [read, write, none, unread, unchanged, written, own, one] = first.results;
    expect([read, write, written, own].map((result) => result?.failed)).toEqual([false, false, false, false]);
    expect([unread, unchanged].map((result) => result?.failed)).toEqual([true, true]);
    expect([none?.text.trim(), one?.text.trim()]).toEqual(['0', '1']);
    expect(own?.text).toContain('Written by several.');
    expect((await place.workspace.names(place.home.memory)).sort()).toEqual(['MEMORY.md', 'before.md']);
    expect(await place.workspace.read(before)).toBe('Saved before.\n');

    const again = await place.workspace.session(
      place.home,
      async function* () {
        yield { tool: 'Read', input: { file_path: before } };
        yield { tool: 'Read', input: { file_path: after } };
        return 'Read.';
      },
      place.workspace.repository,
      roses,
    );
    expect(again.opening).not.toContain('tulips');
    // The program itself may have begun an index of what it wrote.
    expect(again.results.map(({ failed }) => failed)).toEqual([true, false]);
    expect(await place.workspace.mend(place.home.path, 'memory', 'log')).not.toContain('after.md');

    await place.workspace.mend(place.home.path, 'session', 'end', 'roses');
    const fresh = await place.workspace.session(
      place.home,
      async function* () {
        yield { tool: 'Read', input: { file_path: after } };
        return 'Read.';
      },
      place.workspace.repository,
      roses,
    );
    expect(fresh.opening).toContain('tulips');
    expect(fresh.results.map(({ failed }) => failed)).toEqual([true]);
  });
});
