import { expect } from 'vitest';
import type { RecordedStage } from './recorded-stage.js';

/** How much is done. */
export interface Amount {
  /** Turns of each worker. */
  readonly turns: number;
  /** How often the server is killed or replaced while they work. */
  readonly kills: number;
}

/** A life of a store: made, imported into, worked on by several programs, purged, handed over, left and taken up again. */
export async function live(recorded: RecordedStage, { turns, kills }: Amount): Promise<void> {
  const { stage } = recorded;
  const folder = stage.folder();
  await recorded.step({ 'person-first.md': 'from before\n' }, async () => {
    await recorded.writePlain('person-first.md', 'from before\n');
    await recorded.mount();
  });
  await recorded.logFlushed();

  await commands(recorded, folder, 1);

  const work = Promise.all([
    recorded.work('save', 'one', turns),
    recorded.work('save', 'two', turns),
    recorded.work('hold', 'held', turns * 2),
    recorded.work('direct', 'direct', turns),
  ]);
  let isOver = false;
  const done = work.finally(() => {
    isOver = true;
  });
  // A failure is told at the end.
  done.catch(() => undefined);
  let killed = 0;
  for (; killed < kills; killed++) {
    await recorded.pause(turns, () => isOver);
    if (isOver) break;
    if (killed % 3 === 2) await recorded.mend('daemon', 'restart');
    else await recorded.killServer();
  }
  await done;
  expect(killed).toBeGreaterThan(0);

  await commands(recorded, folder, 2);
  await recorded.rest();
  await recorded.step({ 'person-first.md': 'changed underneath\n' }, async () => {
    await recorded.writePlain('person-first.md', 'changed underneath\n');
    await recorded.mount();
  });
  await recorded.logFlushed();
  await recorded.rest();
}

/** What a person does with commands, each of which is flushed within a second. */
async function commands(recorded: RecordedStage, folder: string, round: number): Promise<void> {
  const { stage } = recorded;
  const named = (name: string): string => `person-${name}-${round}.md`;
  const secret = `word-${round}-${'s'.repeat(40)}`;
  await recorded.step({ [named('quiet')]: 'saved and left alone\n' }, () =>
    stage.sh('echo "saved and left alone" >"$1"', `${folder}/${named('quiet')}`),
  );
  await recorded.logFlushed();

  await stage.sh(
    'rm -rf "$1"; mkdir "$1"; echo "from elsewhere" >"$1/$2"',
    `${stage.user.home}/elsewhere`,
    named('imported'),
  );
  await recorded.step({ [named('imported')]: 'from elsewhere\n' }, () =>
    recorded.mend('memory', 'import', '--from', `${stage.user.home}/elsewhere`, '--machine', 'elsewhere'),
  );
  await recorded.logFlushed();

  await recorded.step({ [named('quiet')]: null }, () => recorded.mend('memory', 'rm', named('quiet')));
  await recorded.logFlushed();
  await recorded.step({ [named('quiet')]: 'saved and left alone\n' }, () =>
    recorded.mend('memory', 'restore', named('quiet'), '--version', '1'),
  );
  await recorded.logFlushed();

  await recorded.step({ [named('secret')]: `${secret}\n` }, () =>
    stage.sh('echo "$1" >"$2"', secret, `${folder}/${named('secret')}`),
  );
  await recorded.logFlushed();
  await recorded.step({ [named('secret')]: null }, async () => {
    const args = ['memory', 'purge', named('secret'), '--confirm', named('secret')];
    // While somebody reads the store, traces stay, and it has to be run again.
    let result = await recorded.tried(...args);
    for (let attempt = 0; result.code === 3 && attempt < 20; attempt++) result = await recorded.tried(...args);
    expect(result).toMatchObject({ code: 0 });
  });
  await recorded.say({ purged: secret });
  await recorded.logFlushed();
}
