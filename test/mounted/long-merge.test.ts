import { join } from 'node:path';
import { expect, test } from 'vitest';
import { staged } from './stage.js';

/** Lines of one letter, which are as hard to line up as any; `seed` and `share` of them are changed. */
function letters(count: number, seed: number, share = 0): string[] {
  let state = 20_240_229;
  const random = (salt: number): number => {
    state = (Math.imul(state ^ salt, 1_103_515_245) + 12_345) >>> 0;
    return state >>> 8;
  };
  const lines = Array.from({ length: count }, () => String.fromCharCode(97 + (random(0) % 26)));
  return share === 0
    ? lines
    : lines.map((line, i) => (((Math.imul(i, 2_654_435_761) ^ seed) >>> 5) % share === 0 ? 'z' : line));
}

test(
  'while a merge takes long, others are served; its close ends when it is done, and so does a rename',
  staged(90, async (stage) => {
    const home = join(stage.user.home, 'second');
    await stage.sh('mkdir "$1"', home);
    const [here, there] = [await stage.mount(), await stage.mount({ home })];
    const [one, two, third] = [await stage.agent(), await stage.agent(), await stage.agent()];
    const text = (lines: string[]) => `${lines.join('\n')}\n`;
    const base = letters(200_000, 1);
    await third.run((fs, _, dir, small) => fs.writeFileSync(`${dir}/small.md`, small), here, 'small\n');
    for (const way of ['close', 'rename'] as const) {
      const name = `${way}.md`;
      await third.run((fs, _, path, content) => fs.writeFileSync(path, content), `${here}/${name}`, text(base));
      await one.run((fs, _, path) => fs.readFileSync(path).length, `${here}/${name}`);
      await two.run(
        (fs, _, path, content) => {
          fs.readFileSync(path);
          fs.writeFileSync(path, content);
        },
        `${there}/${name}`,
        text([...letters(200_000, 3, 3), 'foreign']),
      );
      const temporary = way === 'rename' ? `${name}.tmp.1.0123456789ab` : name;
      await one.run(
        (fs, own, path, content) => {
          own['fd'] = fs.openSync(path, 'w');
          fs.writeSync(own['fd'], content);
        },
        `${here}/${temporary}`,
        text(['mine', ...letters(200_000, 5, 3)]),
      );
      const save = one.run(
        (fs, own, how, from, to) => {
          const begin = performance.timeOrigin + performance.now();
          fs.closeSync(own['fd'] ?? -1);
          if (how === 'rename') fs.renameSync(from, to);
          return [begin, performance.timeOrigin + performance.now()] as const;
        },
        way,
        `${here}/${temporary}`,
        `${here}/${name}`,
      );
      const look = third.run((fs, _, path) => {
        const ends: number[] = [];
        for (let i = 0; i < 1500; i++) {
          fs.readFileSync(path);
          ends.push(performance.timeOrigin + performance.now());
        }
        return ends;
      }, `${there}/small.md`);
      const [[begin, end], looks] = await Promise.all([save, look]);
      // On the serving thread the merge would let through two of them at most: one before it and one after.
      expect(looks.filter((time) => time > begin && time < end).length).toBeGreaterThan(20);
      const merged = await third.run((fs, _, path) => fs.readFileSync(path, 'utf8'), `${there}/${name}`);
      expect(merged.startsWith('mine\n')).toBe(true);
      expect(merged.endsWith('\nforeign\n')).toBe(true);
      expect(await stage.kinds(name)).toEqual(['merged', 'saved', 'saved']);
    }
  }),
  120_000,
);
