import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isRoot } from '../support/users.js';
import { until } from './stage.js';
import { twice } from './two-namespaces.js';

describe.runIf(isRoot)('two mount namespaces of one user and store (only root can make them)', () => {
  test(
    'each has a daemon and a mount of its own, and one tree',
    twice(60, async (here, there) => {
      const folder = await here.mount();
      expect(await there.sh('ls -A "$1"; grep -cF " $1 " /proc/self/mountinfo || true', folder)).toBe('0\n');
      expect(await there.mount()).toBe(folder);
      const [one, two] = [await here.status(), await there.status()];
      expect(one.pid).not.toBeNull();
      expect(two.pid).not.toBeNull();
      expect(one.pid).not.toBe(two.pid);
      expect([one, two].map(({ mounts }) => mounts.map(({ path }) => path))).toEqual([[folder], [folder]]);
      await here.sh('echo here >"$1/here.md"', folder);
      await there.sh('echo there >"$1/there.md"', folder);
      for (const stage of [here, there])
        expect(await stage.sh('cd "$1"; ls; cat *', folder)).toBe('here.md\nthere.md\nhere\nthere\n');
      await there.mend(['memory', 'rm', 'here.md']);
      for (const stage of [here, there]) expect(await stage.sh('ls "$1"', folder)).toBe('there.md\n');
      await there.mend(['unmount', '--all']);
      await here.sh('echo more >>"$1/there.md"', folder);
      expect((await here.status()).pid).toBe(one.pid);
      expect((await there.status()).pid).toBeNull();
    }),
    100_000,
  );

  test(
    'a change closed in one is seen at once by stat, list and open in the other, in each of 300 tries',
    twice(90, async (here, there) => {
      const folder = await here.mount();
      await there.mount();
      const agents = [await here.agent(), await there.agent()];
      const stale: string[] = [];
      for (let round = 0; round < 300; round++) {
        const [writer, reader] = round % 2 === 0 ? agents : [...agents].reverse();
        const name = `note-${round % 3}.md`;
        const look = () =>
          reader?.run(
            (fs, _, dir, file) => [
              fs.statSync(`${dir}/${file}`, { throwIfNoEntry: false })?.size ?? null,
              fs.readdirSync(dir).includes(file),
              fs.existsSync(`${dir}/${file}`) ? fs.readFileSync(`${dir}/${file}`, 'utf8') : null,
            ],
            folder,
            name,
          );
        await look();
        // As much like the newest content as like any that the session knew before: it replaces that.
        const text = `a line\nround ${round} ${'x'.repeat(round)}`;
        const removes = round % 5 === 4;
        await writer?.run(
          (fs, _, path, content, remove) => {
            if (fs.existsSync(path)) fs.readFileSync(path);
            return remove ? fs.rmSync(path, { force: true }) : fs.writeFileSync(path, content);
          },
          join(folder, name),
          text,
          removes,
        );
        const wanted = removes ? [null, false, null] : [text.length, true, text];
        const seen = await look();
        if (JSON.stringify(seen) !== JSON.stringify(wanted)) stale.push(`round ${round}: ${JSON.stringify(seen)}`);
      }
      expect({ stale: stale.length, first: stale.slice(0, 3) }).toEqual({ stale: 0, first: [] });
    }),
    130_000,
  );

  test(
    'names are shared at once: O_EXCL and mkdir have one winner',
    twice(60, async (here, there) => {
      const folder = await here.mount();
      await there.mount();
      const [one, two] = [await here.agent(), await there.agent()];
      const create = (agent: typeof one, name: string) =>
        agent.code(
          (fs, own, path) => {
            own['fd'] = fs.openSync(path, 'wx');
          },
          join(folder, name),
        );
      const make = (agent: typeof one, name: string) =>
        agent.code((fs, _, path) => fs.mkdirSync(path), join(folder, name));
      for (let round = 0; round < 20; round++) {
        // The kernel of the loser has it cached that there is no such name.
        for (const agent of [one, two])
          await agent.code((fs, _, path) => fs.statSync(path), join(folder, `${round}.md`));
        const both = await Promise.all([create(one, `${round}.md`), create(two, `${round}.md`)]);
        expect(both.sort()).toEqual(['EEXIST', undefined]);
        expect((await Promise.all([make(one, `d${round}`), make(two, `d${round}`)])).sort()).toEqual([
          'EEXIST',
          undefined,
        ]);
      }
    }),
    90_000,
  );

  test(
    'what is local stays local: a name of either, and a note that is put aside under one',
    twice(60, async (here, there) => {
      const folder = await here.mount();
      await there.mount();
      await here.sh('cd "$1"; echo text >note.md; echo here >own.lock', folder);
      await there.sh('cd "$1"; cat note.md >/dev/null; test ! -e own.lock; echo there >own.lock; cat own.lock', folder);
      // As an editor does that keeps a backup.
      await here.sh('cd "$1"; mv note.md note.md~; echo new >note.md', folder);
      expect(await here.sh('cd "$1"; ls; cat note.md note.md~ own.lock', folder)).toBe(
        'note.md\nnote.md~\nown.lock\nnew\ntext\nhere\n',
      );
      expect(await there.sh('cd "$1"; ls; cat note.md own.lock', folder)).toBe('note.md\nown.lock\nnew\nthere\n');
      expect(await here.kinds('note.md')).toEqual(['saved', 'removed', 'saved']);
    }),
    90_000,
  );

  test(
    'what a mount takes in is seen by the other daemon from the moment the mount is up',
    twice(80, async (here, there) => {
      const folder = await here.mount();
      await here.sh('echo note >"$1/note.md"', folder);
      const agent = await here.agent();
      // Whoever asks the daemon for anything has it catch up; the agent asks nobody but the kernel.
      for (let round = 0; round < 5; round++) {
        const name = join(folder, `round-${round}.md`);
        expect(await agent.code((fs, _, path) => fs.statSync(path), name)).toBe('ENOENT');
        await there.sh('mkdir -p "$1"; echo "taken in" >"$2"', folder, name);
        const up = there.mount();
        let seen: string | null = null;
        // In the other namespace the name appears with the mount.
        const listed = () => there.sh('grep -qF " $1 " /proc/self/mountinfo && ls "$1" || true', folder);
        await until(async () => (await listed()).includes('note.md'), 'the mount');
        seen = await agent.run((fs, _, path) => (fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : null), name);
        expect(seen).toBe('taken in\n');
        await up;
        await there.mend(['unmount', '--all']);
      }
    }),
    130_000,
  );

  test(
    'SIGKILL of one daemon disturbs neither the other nor its drafts',
    twice(60, async (here, there) => {
      const folder = await here.mount();
      await there.mount();
      await here.sh('echo head >"$1/note.md"', folder);
      const [lost, safe] = [await here.agent(), await there.agent()];
      for (const [agent, text] of [
        [lost, 'lost'],
        [safe, 'safe'],
      ] as const) {
        await agent.run(
          (fs, own, path, content) => {
            own['fd'] = fs.openSync(path, 'w');
            fs.writeSync(own['fd'], content);
          },
          `${folder}/note.md`,
          text,
        );
      }
      await here.endDaemon('SIGKILL');
      expect(await there.sh('cat "$1/note.md"', folder)).toBe('head\n');
      await here.mount();
      expect(await here.contents('note.md', 'interrupted')).toEqual(['lost']);
      await safe.run((fs, own) => {
        fs.writeSync(own['fd'] ?? -1, ' and sound');
        fs.closeSync(own['fd'] ?? -1);
      });
      for (const stage of [here, there]) expect(await stage.sh('cat "$1/note.md"', folder)).toBe('safe and sound');
      expect(await here.kinds('note.md')).toEqual(['saved', 'interrupted', 'saved']);
    }),
    90_000,
  );
});
