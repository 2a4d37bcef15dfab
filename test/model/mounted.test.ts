import { expect, test } from 'vitest';
import { staged } from '../mounted/stage.js';
import { withStore } from '../mounted/with-store.js';
import { historyFault, Player, type Version } from './play.js';
import { Chooser, Random } from './random.js';
import { RealMount } from './real-mount.js';

// Random schedules, by processes on a mount. To play more, or again what has failed:
//   MODEL_MOUNTED=1000 MODEL_SEED=7 npx vitest run test/model/mounted.test.ts
const COUNT = Number(process.env['MODEL_MOUNTED'] ?? 300);
const SEED = Number(process.env['MODEL_SEED'] ?? 1);
const FILES = ['a', 'b'];
const [FEWEST, MOST] = [12, 25];
/** Seconds for everything. */
const LONGEST = Math.max(100, COUNT / 2);

test(
  `${COUNT} random schedules of real processes keep what was promised`,
  staged(LONGEST, async (stage) => {
    const folder = await stage.mount();
    const agents = await Promise.all(Array.from({ length: 5 }, () => stage.agent()));
    const [A, B, C, Z, outsider] = agents as [...typeof agents, never, never, never, never, never];
    const mount = new RealMount(folder, { A, B, C, Z }, outsider);
    const heads = new Map<string, readonly string[]>();
    for (let number = 0; number < COUNT; number++) {
      const seed = SEED * 1_000_003 + number;
      const random = new Random(seed);
      mount.begin();
      const player = new Player(mount, FILES);
      const chooser = new Chooser(random, { files: FILES, plain: true });
      try {
        for (const step of chooser.begin()) await player.play(step);
        const steps = FEWEST + random.below(MOST - FEWEST + 1);
        for (let left = steps; left > 0; left--) await player.play(chooser.next(player));
        await player.finish(['A', 'B', 'C']);
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`);
      }
      for (const file of FILES) heads.set(mount.real(file), player.heads.get(file) ?? []);
    }
    const histories = await withStore(stage, (store) => {
      const found: Record<string, Version[]> = {};
      for (const { id } of store.projects
        .list(store.machine)
        .flatMap(({ id: project }) => store.trees.ofProject(project)))
        for (const { path, content, kind } of store.versions.all(id).sort((a, b) => b.number - a.number)) {
          found[path] ??= [];
          found[path].push({ kind, text: store.content(content).toString('latin1') });
        }
      return found;
    });
    const faults = [...heads].map(([path, own]) => historyFault(own, histories[path] ?? []));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  }),
  (LONGEST + 60) * 1000,
);
