import { expect, test } from 'vitest';
import type { Agent } from './agent.js';
import { program } from './agent-work.js';
import { staged } from './stage.js';

test(
  'appends of two sessions in turn are all there, each a version, and the time rises with each',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    const path = `${folder}/note.md`;
    const agents = [await stage.agent(), await stage.agent()];
    let [text, last] = ['', 0];
    for (let round = 0; round < 12; round++) {
      const agent = agents[round % 2] as Agent;
      await program(agent, `echo "line ${round}" >>"$1"`, path);
      text += `line ${round}\n`;
      const times: number[] = [];
      for (const each of agents) {
        const [content, time] = await each.run(
          (fs, _, file) => [fs.readFileSync(file, 'utf8'), fs.statSync(file).mtimeMs] as const,
          path,
        );
        expect(content).toBe(text);
        times.push(time);
      }
      expect(times[0]).toBe(times[1]);
      expect(times[0]).toBeGreaterThan(last);
      last = times[0] ?? 0;
    }
    expect(await stage.kinds('note.md')).toEqual(Array.from({ length: 12 }, () => 'saved'));
  }),
  70_000,
);

test(
  'the head and the twenty versions before it are kept, oldest dropped first; a removed file keeps its own',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    await stage.sh('for i in $(seq 25); do echo "text $i" >"$1/note.md"; done; echo other >"$1/other.md"', folder);
    const log = await stage.log('note.md');
    expect(log.map(({ version }) => version)).toEqual(Array.from({ length: 21 }, (_, index) => 25 - index));
    expect(await stage.show('note.md', 5)).toBe('text 5\n');
    await stage.mend(['memory', 'show', 'note.md', '--version', '4'], { status: 1 });
    // A save that changes nothing is no version.
    await stage.sh('echo "text 25" >"$1/note.md"', folder);
    expect((await stage.log('note.md'))[0]?.version).toBe(25);
    await stage.sh('rm "$1/note.md"', folder);
    expect((await stage.kinds('note.md')).slice(0, 2)).toEqual(['removed', 'saved']);
    expect(await stage.show('note.md', 25)).toBe('text 25\n');
    expect(await stage.kinds('other.md')).toEqual(['saved']);
  }),
  70_000,
);

test(
  'a temporary leaves no trace, whatever its name; a rename takes the history along',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    const script = `cd "$1"; echo one >note.md; mkdir sub
        echo two >note.md.tmp.1.0123456789ab; mv note.md.tmp.1.0123456789ab note.md
        echo three >next.md; mv next.md note.md
        echo four >sub/next.md; mv sub/next.md note.md`;
    await stage.sh(script, folder);
    expect(await stage.sh('cd "$1"; cat note.md; ls -A', folder)).toBe('four\nnote.md\nsub\n');
    expect((await stage.log()).map(({ file, kind }) => `${file} ${kind}`)).toEqual(Array(4).fill('note.md saved'));
    await stage.sh('cd "$1"; mv note.md sub/moved.md; mv sub renamed; echo five >renamed/moved.md', folder);
    expect(new Set((await stage.log()).map(({ file }) => file))).toEqual(new Set(['renamed/moved.md']));
    expect(await stage.contents('renamed/moved.md', 'saved')).toEqual([
      'five\n',
      'four\n',
      'three\n',
      'two\n',
      'one\n',
    ]);
    // A note with a past of its own that replaces another keeps it.
    await stage.sh('cd "$1"; echo a >a.md', folder);
    const agent = await stage.agent();
    await program(agent, 'cd "$1"; echo b >a.md; mv a.md renamed/moved.md', folder);
    expect(await stage.contents('renamed/moved.md', 'saved')).toEqual([
      'b\n',
      'five\n',
      'four\n',
      'three\n',
      'two\n',
      'one\n',
    ]);
    expect(await stage.kinds('a.md')).toEqual(['removed', 'saved', 'saved']);
  }),
  70_000,
);

test(
  'a note with several versions that replaces another keeps them all under its old name, in one session or two',
  staged(40, async (stage) => {
    const folder = await stage.mount();
    const agent = await stage.agent();
    const script = `cd "$1"; echo b >b.md; for i in 1 2 3; do echo "a $i" >a.md; done; mv a.md b.md
        echo once >once.md; mv once.md b.md`;
    await program(agent, script, folder);
    expect(await stage.sh('cd "$1"; ls -A; cat b.md', folder)).toBe('b.md\nonce\n');
    expect(await stage.contents('b.md', 'saved')).toEqual(['once\n', 'a 3\n', 'b\n']);
    expect(await stage.kinds('a.md')).toEqual(['removed', 'saved', 'saved', 'saved']);
    expect(await stage.contents('a.md', 'saved')).toEqual(['a 3\n', 'a 2\n', 'a 1\n']);
    expect(await stage.contents('a.md', 'removed')).toEqual(['a 3\n']);
    expect(new Set((await stage.log()).map(({ file }) => file))).toEqual(new Set(['a.md', 'b.md']));
    // Each by another session: the shell of the tests writes, the agent renames.
    await stage.sh('cd "$1"; echo c >c.md', folder);
    await program(agent, 'cd "$1"; mv c.md b.md', folder);
    expect(await stage.kinds('c.md')).toEqual(['removed', 'saved']);
    expect(await stage.contents('b.md', 'saved')).toEqual(['c\n', 'once\n', 'a 3\n', 'b\n']);
  }),
  70_000,
);
