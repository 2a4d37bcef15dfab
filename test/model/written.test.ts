import { afterAll, describe, expect, test } from 'vitest';
import { freshFolder } from '../store/fresh-store.js';
import { Kernel } from './kernel.js';
import { Player } from './play.js';
import { parseSchedule } from './schedule.js';
import { linesOf } from './texts.js';

// What must come out of schedules written by hand, in full. The language is described in schedule.ts. Before each, the
// file `a` has the lines p, q, r, and the harnesses A and B have read it long ago.
const BEFORE = 'Z swap a ! +p +q +r; A read a; B read a; ~C read b;';

const cases: Record<string, readonly (readonly [about: string, schedule: string, lines: string])[]> = {
  'a whole text made from an old read': [
    ['keeps what others added since', 'B swap a +y; ~A swap a +x@0', 'x p q r y'],
    ['also after the re-read at once before the save', 'B swap a +y; ~A read a; A swap a ^ +x@0', 'x p q r y'],
    ['and after two of them', 'B swap a +y; ~A read a; A read a; A swap a ^ +x@0', 'x p q r y'],
    ['written in place', 'B swap a +y; ~A trunc a; A put +x@0; A close', 'x p q r y'],
    ['written in place in halves', 'A trunc a; A half +x@0; B swap a +y; A put; A close', 'x p q r y'],
    ['written over the old bytes', 'B swap a +y; ~A rw a; A put +x@0; A close', 'x p q r y'],
    ['does not bring back what others removed', 'B swap a -q; ~A swap a +x@0', 'x p r'],
    ['takes out what it takes out', 'B swap a +y; ~A swap a -q', 'p r y'],
    ['both take out the same line', 'B swap a -q +y; ~A swap a -q +x@0', 'x p r y'],
    ['a removal against a change', 'B swap a -q +Q@1; ~A swap a -q', 'p Q r'],
  ],
  'a text made from what was really read': [
    ['a line of another that was read can be removed', 'B swap a +y; ~A read a; ~A swap a -y', 'p q r'],
    ['and does not come back with the save of a third', 'B swap a +y; ~A read a; ~C swap a ! +z; B swap a -q', 'z'],
    ['read by another process of the session', "B swap a +y; ~A' read a; A swap a -y", 'p q r'],
    [
      'read through the descriptor that it is written to',
      'B swap a +y; ~A rw a; A look; A put +x@0; A close',
      'x p q r y',
    ],
    ['an edit', 'B swap a +y; ~A read a; ~A swap a -q +x@0', 'x p r y'],
    ['what is opened and not read is not known', 'B swap a +y; ~A keep a; A swap a +x@0; A drop', 'x p q r y'],
  ],
  'programs of a session': [
    [
      'sed -i removes a line that it has just read',
      'B swap a +y; ~A* keep a; A* again; A* swap a -y; A* drop',
      'p q r',
    ],
    ['sed -i changes another', 'B swap a +y; ~A* keep a; A* again; A* swap a -q +Q@1; A* drop', 'p Q r y'],
    ['an editor with a temporary file of an ordinary name', 'A read a; ~B swapo a +y; A swapo a +x@0', 'x p q r y'],
    ['a temporary file that waits', 'A temp a +x@0; B swap a +y; ~A move', 'x p q r y'],
    ['git checkout of a file', 'A* unlink a; A* create a; A* put ! +p +q; A* close', 'p q'],
    [
      'git checkout against a newer save',
      'B swap a +y; A* keep a; A* unlink a; A* create a; A* put ! +x +p +q +r; A* close; A* drop',
      'x p q r y',
    ],
    [
      'also through a temporary file',
      'B swap a +y; A* keep a; A* unlink a; A* swap a ! +x +p +q +r; A* drop',
      'x p q r y',
    ],
  ],
  appending: [
    ['>> keeps what came between', 'C append a; B swap a +y@0; C put +x; C close', 'y p q r x'],
    ['>> does not bring back what others removed', 'C append a; B swap a -q; C put +x; C close', 'p r x'],
    ['>> by two', 'B append a; C append a; B put +x; C put +y; B close; C close', 'p q r {x y}'],
    ['after a merge', 'A append a; A put +x; B swap a +y@0; A copy; A put +z; A close', 'y p q r x z'],
  ],
  'a file that the session never saw': [
    ['is replaced', 'C swap a ! +x', 'x'],
    ['is replaced in place', 'C trunc a; C put ! +x; C close', 'x'],
    ['two that saw it missing and make it', 'A read b; B read b; A swap b ! +x; B swap b ! +y', '{x y}'],
    ['two that open it at once', 'A trunc b; B trunc b; A put ! +x; B put ! +y; B close; A close', '{x y}'],
    ['and close it in the other order', 'A trunc b; B trunc b; A put ! +x; B put ! +y; A close; B close', '{x y}'],
    ['one makes it in place, one by a rename', 'A create b; A put ! +x; B swap b ! +y; A close', '{x y}'],
    ['the rename comes last', 'B temp b ! +y; A create b; A put ! +x; A close; B move', '{x y}'],
  ],
  'a removal': [
    ['of the newest', 'A unlink a', 'missing'],
    ['of what another saved since', 'B swap a +y; A unlink a', 'p q r y'],
    ['that did not take place teaches nothing', 'B swap a +y; A unlink a; ~A swap a ! +x', '{x y}'],
    ['against a text that is being written', 'B trunc a; B put +y; A unlink a; B close', 'p q r y'],
    ['against an append', 'B append a; B put +y; A unlink a; B close', 'p q r y'],
    ['by its own session', "A' append a; A' put +y; A unlink a; A' close", 'missing'],
    ['and a new file', 'A unlink a; A swap a ! +x', 'x'],
  ],
  'saving again': [
    ['after a merge', 'A swap a +x@0; B swap a +y; A swap a +w@0', 'w x p q r y'],
    ['both, in turn', 'A swap a +x@0; B swap a +y; A swap a +w@0; B swap a +z', 'w x p q r y z'],
    ['without what it had added itself', 'A swap a +x@0; B swap a +y; A swap a -x', 'p q r y'],
    ['what it had merged, read and removed', 'A swap a +x@0; B swap a +y; ~B read a; ~B swap a -x', 'p q r y'],
    ['through one descriptor', 'A trunc a; A put +x@0; B swap a +y; A copy; A put +w; A close', 'x p q r {w y}'],
    ['the same text', 'A swap a; B swap a', 'p q r'],
  ],
  'what is read between': [
    ['the write and the close, by the writer', 'A trunc a; A put +x@0; B swap a +y; A read a; A close', 'x p q r y'],
    [
      'the write and the close, by another process',
      "A trunc a; A put +x@0; B swap a +y; A' read a; A close",
      'x p q r y',
    ],
    [
      'through a descriptor that leads to what was replaced',
      'C rw a; B swap a +y; C look; C put +x@0; C close',
      'x p q r y',
    ],
  ],
};

const kernel = new Kernel(freshFolder());
afterAll(() => kernel.dispose());

/** Lines in braces may come in any order. */
function inOrder(found: readonly string[], expected: string): string {
  const groups = expected.split(/(?<=\})\s|\s(?=\{)/).map((group) => group.replace(/[{}]/g, '').split(' '));
  let at = 0;
  const parts = groups.map((group) => {
    const own = found.slice(at, at + group.length);
    at += group.length;
    return expected.includes(`{${group.join(' ')}}`) ? `{${own.sort().join(' ')}}` : own.join(' ');
  });
  return [...parts, ...found.slice(at)].join(' ');
}

describe.each(Object.keys(cases))('%s', (about) => {
  test.each((cases[about] ?? []).map((each) => [...each] as const))('%s: %s', async (_, schedule, expected) => {
    kernel.begin();
    const player = new Player(kernel, ['a', 'b']);
    for (const step of parseSchedule(`${BEFORE} ${schedule}`)) await player.play(step);
    await player.finish(['A', 'B', 'C']);
    const content = player.reference.content(/ b\b/.test(schedule) ? 'b' : 'a');
    expect(content === null ? 'missing' : inOrder(linesOf(content), expected)).toBe(expected);
  });
});
