import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLAUDE_CODE_VERSION, installClaudeCode } from './claude-code.js';
import type { ToolCall } from './model-stub.js';
import { SESSION_TIMEOUT_MS } from './session.js';
import { type Home, Workspace } from './workspace.js';

const INDEX = 'MEMORY.md';

/** Room for the two sessions of one test and the commands around them. */
const TIMEOUT_MS = 3 * SESSION_TIMEOUT_MS;

/** A topic as Claude Code writes one: frontmatter, then prose. */
function topic(name: string, prose: string): string {
  return `---\nname: ${name}\ndescription: about ${name}\nmetadata:\n  type: project\n---\n\n${prose}\n`;
}

function read(path: string): ToolCall {
  return { tool: 'Read', input: { file_path: path } };
}

function write(path: string, content: string): ToolCall {
  return { tool: 'Write', input: { file_path: path, content } };
}

function edit(path: string, before: string, after: string): ToolCall {
  return { tool: 'Edit', input: { file_path: path, old_string: before, new_string: after } };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const program = process.env['MEND_HARNESS'] ? await installClaudeCode() : { unreachable: 'MEND_HARNESS is not set' };
const skipped = 'unreachable' in program ? ` (skipped: ${program.unreachable})` : '';
if (skipped) console.warn(`Claude Code ${CLAUDE_CODE_VERSION}${skipped}`);

describe.skipIf(skipped)(`Claude Code ${CLAUDE_CODE_VERSION}${skipped}`, { timeout: TIMEOUT_MS }, () => {
  let workspace: Workspace;
  let home: Home;

  beforeAll(async () => {
    if ('unreachable' in program) throw new Error(program.unreachable);
    workspace = await Workspace.open(program.binary);
    await workspace.createRepository();
    home = await workspace.mount(workspace.home);
    await workspace.put(join(home.memory, INDEX), '- beds: four\n');
  }, TIMEOUT_MS);

  afterAll(() => workspace?.close(), TIMEOUT_MS);

  it('loads an index that was written through the mount', async () => {
    const path = join(home.memory, INDEX);
    await workspace.put(path, '- [Tulips](tulips.md) — bulbs go in before the frost\n');

    const session = await workspace.session(home, async function* () {
      yield read(path);
      return 'Read.';
    });

    expect(session.opening).toContain('bulbs go in before the frost');
    expect(session.results).toEqual([{ failed: false, text: expect.any(String) }]);
  });

  it('writes a topic that mend then lists', async () => {
    const path = join(home.memory, 'roses.md');

    const session = await workspace.session(home, async function* () {
      yield write(path, topic('roses', 'Pruned in March.'));
      return 'Written.';
    });

    expect(session.results).toEqual([{ failed: false, text: expect.any(String) }]);
    expect(await workspace.read(path)).toContain('Pruned in March.');
    expect(await workspace.listed(home)).toContainEqual(
      expect.objectContaining({ harness: 'claude', file: 'roses.md' }),
    );
  });

  it('edits the index, and each text it replaces is kept as a version', async () => {
    const path = join(home.memory, INDEX);
    const [first, second, third] = ['- beds: four\n', '- beds: five\n', '- beds: six\n'];
    await workspace.put(path, first);

    const session = await workspace.session(home, async function* () {
      yield read(path);
      yield edit(path, 'four', 'five');
      yield edit(path, 'five', 'six');
      return 'Edited.';
    });

    expect(session.results.map((result) => result.failed)).toEqual([false, false, false]);
    expect(await workspace.read(path)).toBe(third);
    const kept = (await workspace.versions(home, INDEX)).map((version) => version.sha256);
    expect(kept).toEqual(expect.arrayContaining([sha256(first), sha256(second)]));
  });

  it('is named as the session of what it saved', async () => {
    const path = join(home.memory, 'compost.md');
    const drafts = ['Turn it weekly.\n', 'Turn it monthly.\n'] as const;

    await workspace.session(home, async function* () {
      yield write(path, drafts[0]);
      yield edit(path, 'weekly', 'monthly');
      return 'Saved.';
    });

    const versions = await workspace.versions(home, 'compost.md');
    const saved = versions.filter((version) => version.sha256 === sha256(drafts[0]));
    expect(saved).not.toEqual([]);
    for (const version of saved) expect(version.session).toContain('claude');
  });

  it('leaves no temporary file, in the folder or in the list', async () => {
    const path = join(home.memory, 'herbs.md');
    const expected = [...(await workspace.names(home.memory)), 'herbs.md'].sort();

    await workspace.session(home, async function* () {
      yield write(path, topic('herbs', 'Basil indoors.'));
      yield edit(path, 'Basil indoors.', 'Basil outdoors.');
      return 'Saved.';
    });

    expect((await workspace.names(home.memory)).sort()).toEqual(expected);
    expect((await workspace.listed(home)).map((entry) => entry.file).sort()).toEqual(expected);
  });

  it('loads in a second home what the first one saved', async () => {
    const other = await workspace.mount(join(workspace.home, 'shed'));
    const path = join(home.memory, INDEX);
    await workspace.put(path, '- water: morning\n');

    await workspace.session(home, async function* () {
      yield read(path);
      yield edit(path, 'morning', 'evening');
      yield write(join(home.memory, 'hose.md'), topic('hose', 'It leaks at the tap.'));
      return 'Saved.';
    });
    const next = await workspace.session(other, async function* () {
      yield read(join(other.memory, 'hose.md'));
      return 'Read.';
    });

    expect(next.opening).toContain('water: evening');
    expect(next.results).toEqual([{ failed: false, text: expect.stringContaining('It leaks at the tap.') }]);
  });

  it('no longer finds a topic that mend removed while it ran', async () => {
    const path = join(home.memory, 'weeds.md');
    await workspace.put(path, topic('weeds', 'Bindweed by the fence.'));

    const session = await workspace.session(home, async function* () {
      yield read(path);
      await workspace.mend(home.path, 'memory', 'rm', 'weeds.md');
      yield read(path);
      return 'Looked twice.';
    });

    expect(session.results).toEqual([
      { failed: false, text: expect.stringContaining('Bindweed by the fence.') },
      { failed: true, text: expect.not.stringContaining('Bindweed') },
    ]);
  });

  it('uses the same memory in a linked worktree', async () => {
    await workspace.put(join(home.memory, INDEX), '- apples: three rows\n');

    const session = await workspace.session(
      home,
      async function* () {
        yield write(join(home.memory, 'pears.md'), topic('pears', 'One row.'));
        return 'Saved.';
      },
      workspace.worktree,
    );

    expect(session.opening).toContain('apples: three rows');
    expect(session.results.map((result) => result.failed)).toEqual([false]);
    expect(await workspace.listed(home)).toContainEqual(
      expect.objectContaining({ harness: 'claude', file: 'pears.md' }),
    );
  });
});
