import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { leftoverMounts } from '../support/mounted.js';
import { shared } from './agent.js';
import { gone, type Stage, staged } from './stage.js';

/** Numbered writes go on until the daemon is killed `after` one of them; gives back the last that had returned. */
async function writeUntilKilled(
  stage: Stage,
  how: 'append' | 'save',
  place: string,
  daemon: { readonly pid: number; readonly supervisor: number },
  after: number,
): Promise<number> {
  const program = shared('appender.mjs', join(import.meta.dirname, 'appender.mjs'));
  const writer = stage.user.spawn([process.execPath, program, how, place], { stdio: ['ignore', 'pipe', 'pipe'] });
  if (!writer.stdout) throw new Error('the writer has no output');
  writer.stderr?.resume();
  const ended = once(writer, 'exit');
  let last = 0;
  let killed = false;
  for await (const line of createInterface({ input: writer.stdout })) {
    last = Number(line);
    if (last < after || killed) continue;
    for (const victim of [daemon.supervisor, daemon.pid]) process.kill(victim, 'SIGKILL');
    killed = true;
  }
  const [code] = await ended;
  // The mount is dead: the next write failed.
  expect(code).toBe(1);
  await Promise.all([gone(daemon.pid), gone(daemon.supervisor)]);
  return last;
}

async function running(stage: Stage): Promise<{ pid: number; supervisor: number }> {
  const { pid, supervisor_pid: supervisor } = await stage.status();
  if (pid === null || supervisor === null) throw new Error('no daemon runs');
  return { pid, supervisor };
}

const numbered = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

test(
  'SIGKILL of the daemon, twenty times over: no write that returned is lost, and the next mount mends all',
  staged(220, async (stage) => {
    let folder = await stage.mount();
    await stage.sh('echo saved >"$1/saved.md"; mkdir "$1/sub"; echo below >"$1/sub/below.md"', folder);
    for (let round = 0; round < 20; round++) {
      const file = `note-${round}.md`;
      const begun = round % 2 === 0 ? '' : 'begun\n';
      if (begun) await stage.sh('printf "begun\\n" >"$1"', `${folder}/${file}`);
      const daemon = await running(stage);
      // The tenth is long enough for its writes to be folded in the store.
      const after = round === 9 ? 5000 : 1 + round * round;
      const returned = await writeUntilKilled(stage, 'append', `${folder}/${file}`, daemon, after);
      folder = await stage.mount();

      const [text, ...more] = await stage.contents(file, 'interrupted');
      expect(more).toEqual([]);
      const lines = (text ?? '').slice(begun.length).split('\n').length - 1;
      expect(lines).toBeGreaterThanOrEqual(returned);
      expect(text).toBe(begun + numbered(lines));
      const names = await stage.sh('cd "$1"; cat saved.md sub/below.md; find . -type f | sort', folder);
      const begunNames = Array.from({ length: 20 }, (_, r) => r).filter((r) => r % 2 === 1 && r <= round);
      const all = [...begunNames.map((r) => `./note-${r}.md`), './saved.md', './sub/below.md'].sort();
      expect(names).toBe(['saved', 'below', ...all, ''].join('\n'));
      if (begun) expect(await stage.sh('cat "$1"', `${folder}/${file}`)).toBe(begun);
    }
    expect(leftoverMounts(stage.user.home)).toEqual([folder]);
    await stage.mend(['unmount']);
  }),
  260_000,
);

test(
  'SIGKILL of the daemon in the middle of saves, five times over: every save that returned is a head',
  staged(120, async (stage) => {
    for (let round = 1; round <= 5; round++) {
      const folder = await stage.mount();
      const returned = await writeUntilKilled(stage, 'save', folder, await running(stage), 100 * round);
      await stage.mount();
      const texts = (await stage.sh('cd "$1"; for f in save-*.md; do echo "$f $(cat "$f")"; done', folder))
        .trim()
        .split('\n');
      expect(texts).toHaveLength(50);
      for (const text of texts) {
        const [, slot, number] = /^save-(\d+)\.md save (\d+)$/.exec(text)?.map(Number) ?? [];
        // The newest that had returned for this name, or the one that was under way.
        const newest = returned - ((returned - (slot ?? 0)) % 50);
        expect([text, number === newest || number === returned + 1]).toEqual([text, true]);
      }
    }
  }),
  150_000,
);

test(
  'SIGKILL of the daemon: every open draft of every session is kept, and each way to end the dead mount works',
  staged(120, async (stage) => {
    const folder = await stage.mount();
    const agents = [await stage.agent(), await stage.agent()];
    for (const [index, agent] of agents.entries()) {
      await agent.run(
        (fs, own, dir, text) => {
          own['old'] = fs.openSync(`${dir}/shared.md`, 'w');
          fs.writeSync(own['old'], text);
          own['cut'] = fs.openSync(`${dir}/cut-${text}.md`, 'w');
          fs.writeSync(own['cut'], 'long text');
          fs.ftruncateSync(own['cut'], 4);
          fs.writeSync(own['cut'], '!', 6);
        },
        folder,
        `writer ${index}`,
      );
    }
    await stage.endDaemon('SIGKILL');
    expect(await agents[0]?.code((fs, _, dir) => fs.readdirSync(dir), folder)).toMatch(/^(ENOTCONN|ECONNABORTED)$/);
    // Before anything is mended, the commands that need no mount work.
    expect((await stage.status()).pid).toBeNull();
    await stage.mount();
    expect((await stage.contents('shared.md', 'interrupted')).sort()).toEqual(['writer 0', 'writer 1']);
    for (const index of [0, 1])
      expect(await stage.contents(`cut-writer ${index}.md`, 'interrupted')).toEqual(['long\0\0!']);
    // What the agents still hold open belongs to the dead mount, and harms nobody.
    expect(await agents[0]?.code((fs, own) => fs.writeSync(own['old'] ?? -1, 'x'))).toMatch(
      /^(ENOTCONN|ECONNABORTED)$/,
    );
    await agents[1]?.exit();
    expect(await stage.sh('ls -A "$1"', folder)).toBe('');
    expect(leftoverMounts(stage.user.home)).toEqual([folder]);
  }),
  150_000,
);

test(
  'SIGKILL of the daemon: what is not saved comes back by fsync as well, and local files stay as they were',
  staged(120, async (stage) => {
    const folder = await stage.mount();
    const agent = await stage.agent();
    await agent.run((fs, own, dir) => {
      own['fd'] = fs.openSync(`${dir}/synced.md`, 'w');
      fs.writeSync(own['fd'], 'synced');
      fs.fsyncSync(own['fd']);
      fs.fdatasyncSync(own['fd']);
      fs.writeFileSync(`${dir}/note.md.tmp.1.0123456789ab`, 'temporary');
    }, folder);
    await stage.endDaemon('SIGKILL');
    await stage.mount();
    expect(await stage.contents('synced.md', 'interrupted')).toEqual(['synced']);
    expect(await stage.sh('cat "$1"/*.tmp.*', folder)).toBe('temporary');
  }),
  150_000,
);

test(
  'SIGKILL of the daemon: what was written to a file that was renamed meanwhile is a version under its new name',
  staged(120, async (stage) => {
    const folder = await stage.mount();
    await stage.sh('mkdir "$1/sub"; echo head >"$1/note.md"', folder);
    const agent = await stage.agent();
    await agent.run((fs, own, path) => {
      own['fd'] = fs.openSync(path, 'r+');
      fs.writeSync(own['fd'], 'HE');
    }, `${folder}/note.md`);
    await stage.sh('cd "$1"; mv note.md sub/moved.md; mv sub other', folder);
    await stage.endDaemon('SIGKILL');
    await stage.mount();
    expect(await stage.kinds('other/moved.md')).toEqual(['interrupted', 'saved']);
    expect(await stage.contents('other/moved.md', 'interrupted')).toEqual(['HEad\n']);
    expect(await stage.sh('cat "$1/other/moved.md"', folder)).toBe('head\n');
  }),
  150_000,
);

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s of the daemon: everything is unmounted, heads are written back, drafts are kept',
  (signal) =>
    staged(40, async (stage) => {
      const folder = await stage.mount();
      await stage.sh('echo head >"$1/note.md"; mkdir "$1/sub"; echo below >"$1/sub/below.md"', folder);
      const agent = await stage.agent();
      await agent.run((fs, own, file) => {
        own['fd'] = fs.openSync(file, 'w');
        fs.writeSync(own['fd'], 'unfinished');
      }, `${folder}/note.md`);
      await stage.endDaemon(signal);
      expect(leftoverMounts(stage.user.home)).toEqual([]);
      expect(await stage.sh('cd "$1"; find . -type f | sort; cat note.md sub/below.md', folder)).toBe(
        './note.md\n./sub/below.md\nhead\nbelow\n',
      );
      expect(await stage.contents('note.md', 'interrupted')).toEqual(['unfinished']);
      expect(await stage.show('note.md')).toBe('head\n');
      await stage.mount();
      expect(await stage.sh('cat "$1/note.md"', folder)).toBe('head\n');
      expect(await stage.kinds('note.md')).toEqual(['interrupted', 'saved']);
    })(),
  70_000,
);
