import { describe, expect, test } from 'vitest';
import { isRoot } from '../support/users.js';
import { fill, onSmallDisk } from './small-disk.js';

/** Tries a write on a full disk, on another file each time: moving the log into the database can make room in between. */
async function untilRefused(
  prepare: () => Promise<void>,
  attempt: (index: number) => Promise<string | undefined>,
): Promise<number> {
  for (let index = 0; index < 20; index++) {
    await prepare();
    const code = await attempt(index);
    if (code === undefined) continue;
    expect(code).toBe('ENOSPC');
    return index;
  }
  throw new Error('no write was refused on a full disk');
}

describe.runIf(isRoot)('a disk that was full (only root can make a small one)', () => {
  test(
    'writes after the first one failed are kept when the daemon is killed',
    onSmallDisk(90, async (stage, folder, filler) => {
      const [agent, big] = [await stage.agent(), await stage.agent()];
      await agent.run((fs, own, dir) => {
        for (let index = 0; index < 20; index++) own[`new-${index}`] = fs.openSync(`${dir}/new-${index}.md`, 'w');
      }, folder);
      const index = await untilRefused(
        () => fill(stage, big, folder, filler),
        (which) =>
          agent.code((fs, own, name) => {
            const { randomBytes } = process.getBuiltinModule('node:crypto');
            fs.writeSync(own[name] ?? -1, randomBytes(200_000), 0, 200_000, 0);
          }, `new-${which}`),
      );
      await stage.sh('rm "$1"', filler);
      const code = await agent.code((fs, own, name) => {
        for (const [at, text] of ['one, ', 'two, ', 'three'].entries()) fs.writeSync(own[name] ?? -1, text, at * 5);
      }, `new-${index}`);
      expect(code).toBeUndefined();
      await stage.endDaemon('SIGKILL');
      await stage.mount();
      expect(await stage.contents(`new-${index}.md`, 'interrupted')).toEqual(['one, two, three']);
      expect(await stage.kinds(`new-${index}.md`)).toEqual(['interrupted']);
    }),
    120_000,
  );

  test(
    'a save over a file that fails leaves the head, and what is written once there is room is saved',
    onSmallDisk(90, async (stage, folder, filler) => {
      const [agent, big] = [await stage.agent(), await stage.agent()];
      await stage.sh('cd "$1"; for i in $(seq 0 19); do echo "head $i" >"old-$i.md"; done', folder);
      const save = (name: string, length: number) =>
        agent.code(
          (fs, _, path, size) => {
            const { randomBytes } = process.getBuiltinModule('node:crypto');
            const fd = fs.openSync(path, 'r+');
            try {
              fs.writeSync(fd, randomBytes(size), 0, size, 0);
            } finally {
              fs.closeSync(fd);
            }
          },
          `${folder}/${name}`,
          length,
        );
      const index = await untilRefused(
        () => fill(stage, big, folder, filler),
        (which) => save(`old-${which}.md`, 200_000),
      );
      const path = `${folder}/old-${index}.md`;
      const head = `head ${index}\n`;
      expect(await stage.sh('cat "$1"; stat -c %s "$1"', path)).toBe(`${head}${head.length}\n`);
      expect(await agent.run((fs, _, file) => fs.readFileSync(file, 'utf8'), path)).toBe(head);
      await stage.sh('rm "$1"', filler);
      expect(await stage.kinds(`old-${index}.md`)).toEqual(['saved']);
      expect(await stage.show(`old-${index}.md`)).toBe(head);
      await agent.run((fs, _, file) => fs.writeFileSync(file, 'new'), path);
      expect(await stage.sh('cat "$1"', path)).toBe('new');
      expect(await stage.contents(`old-${index}.md`, 'saved')).toEqual(['new', head]);
    }),
    120_000,
  );
});
