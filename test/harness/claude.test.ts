import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { ToolCall } from './model-stub.js';
import { SESSION_TIMEOUT_MS } from './session.js';
import { withClaudeCode } from './with-claude-code.js';

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

withClaudeCode('', TIMEOUT_MS, (place) => {
  beforeAll(async () => {
    await place.workspace.put(join(place.home.memory, INDEX), '- beds: four\n');
  }, TIMEOUT_MS);

  it('loads an index that was written through the mount', async () => {
    const path = join(place.home.memory, INDEX);
    await place.workspace.put(path, '- [Tulips](tulips.md) — bulbs go in before the frost\n');

    const session = await place.workspace.session(place.home, async function* () {
      yield read(path);
      return 'Read.';
    });

    expect(session.opening).toContain('bulbs go in before the frost');
    expect(session.results).toEqual([{ failed: false, text: expect.any(String) }]);
  });

  it('writes a topic that mend then lists', async () => {
    const path = join(place.home.memory, 'roses.md');

    const session = await place.workspace.session(place.home, async function* () {
      yield write(path, topic('roses', 'Pruned in March.'));
      return 'Written.';
    });

    expect(session.results).toEqual([{ failed: false, text: expect.any(String) }]);
    expect(await place.workspace.read(path)).toContain('Pruned in March.');
    expect(await place.workspace.listed(place.home)).toContainEqual(
      expect.objectContaining({ harness: 'claude', file: 'roses.md' }),
    );
  });

  it('edits the index, and each text it replaces is kept as a version', async () => {
    const path = join(place.home.memory, INDEX);
    const [first, second, third] = ['- beds: four\n', '- beds: five\n', '- beds: six\n'];
    await place.workspace.put(path, first);

    const session = await place.workspace.session(place.home, async function* () {
      yield read(path);
      yield edit(path, 'four', 'five');
      yield edit(path, 'five', 'six');
      return 'Edited.';
    });

    expect(session.results.map((result) => result.failed)).toEqual([false, false, false]);
    expect(await place.workspace.read(path)).toBe(third);
    const kept = (await place.workspace.versions(place.home, INDEX)).map((version) => version.sha256);
    expect(kept).toEqual(expect.arrayContaining([sha256(first), sha256(second)]));
  });

  it('is named as the session of what it saved', async () => {
    const path = join(place.home.memory, 'compost.md');
    const drafts = ['Turn it weekly.\n', 'Turn it monthly.\n'] as const;

    await place.workspace.session(place.home, async function* () {
      yield write(path, drafts[0]);
      yield edit(path, 'weekly', 'monthly');
      return 'Saved.';
    });

    const versions = await place.workspace.versions(place.home, 'compost.md');
    const saved = versions.filter((version) => version.sha256 === sha256(drafts[0]));
    expect(saved).not.toEqual([]);
    for (const version of saved) expect(version.session).toContain('claude');
  });

  it('leaves no temporary file, in the folder or in the list', async () => {
    const path = join(place.home.memory, 'herbs.md');
    const expected = [...(await place.workspace.names(place.home.memory)), 'herbs.md'].sort();

    await place.workspace.session(place.home, async function* () {
      yield write(path, topic('herbs', 'Basil indoors.'));
      yield edit(path, 'Basil indoors.', 'Basil outdoors.');
      return 'Saved.';
    });

    expect((await place.workspace.names(place.home.memory)).sort()).toEqual(expected);
    expect((await place.workspace.listed(place.home)).map((entry) => entry.file).sort()).toEqual(expected);
  });

  it('loads in a second home what the first one saved', async () => {
    const other = await place.workspace.mount(join(place.workspace.home, 'shed'));
    const path = join(place.home.memory, INDEX);
    await place.workspace.put(path, '- water: morning\n');

    await place.workspace.session(place.home, async function* () {
      yield read(path);
      yield edit(path, 'morning', 'evening');
      yield write(join(place.home.memory, 'hose.md'), topic('hose', 'It leaks at the tap.'));
      return 'Saved.';
    });
    const next = await place.workspace.session(other, async function* () {
      yield read(join(other.memory, 'hose.md'));
      return 'Read.';
    });

    expect(next.opening).toContain('water: evening');
    expect(next.results).toEqual([{ failed: false, text: expect.stringContaining('It leaks at the tap.') }]);
  });

  it('no longer finds a topic that mend removed while it ran', async () => {
    const path = join(place.home.memory, 'weeds.md');
    await place.workspace.put(path, topic('weeds', 'Bindweed by the fence.'));

    const session = await place.workspace.session(place.home, async function* () {
      yield read(path);
      await place.workspace.mend(place.home.path, 'memory', 'rm', 'weeds.md');
      yield read(path);
      return 'Looked twice.';
    });

    expect(session.results).toEqual([
      { failed: false, text: expect.stringContaining('Bindweed by the fence.') },
      { failed: true, text: expect.not.stringContaining('Bindweed') },
    ]);
  });

  it('is told of no failure when what it writes is merged', async () => {
    const path = join(place.home.memory, INDEX);
    await place.workspace.put(path, '- figs: two\n');

    const session = await place.workspace.session(place.home, async function* () {
      await place.workspace.shell('printf "%s\\n" "- plums: one" >> "$1"', path);
      yield write(path, '- figs: two\n- quinces: four\n');
      yield read(path);
      return 'Saved.';
    });

    expect(session.opening).toContain('figs: two');
    expect(session.results).toEqual([
      { failed: false, text: expect.any(String) },
      { failed: false, text: expect.stringContaining('plums: one') },
    ]);
    expect((await place.workspace.read(path)).split('\n').sort()).toEqual([
      '',
      '- figs: two',
      '- plums: one',
      '- quinces: four',
    ]);
  });

  it('uses the same memory in a linked worktree', async () => {
    await place.workspace.put(join(place.home.memory, INDEX), '- apples: three rows\n');

    const session = await place.workspace.session(
      place.home,
      async function* () {
        yield write(join(place.home.memory, 'pears.md'), topic('pears', 'One row.'));
        return 'Saved.';
      },
      place.workspace.worktree,
    );

    expect(session.opening).toContain('apples: three rows');
    expect(session.results.map((result) => result.failed)).toEqual([false]);
    expect(await place.workspace.listed(place.home)).toContainEqual(
      expect.objectContaining({ harness: 'claude', file: 'pears.md' }),
    );
  });
});
