import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { programPath } from '../support/program.js';
import { Agent } from './agent.js';
import { begin, end, program, read } from './agent-work.js';
import { gone, type Stage, staged, until } from './stage.js';

interface Session {
  readonly session: string;
  readonly running: boolean;
  readonly ended: string | null;
  readonly processes: readonly number[];
}

const sessions = (stage: Stage): Promise<Session[]> => stage.json<Session[]>(['session', 'list']);
const sessionOf = async (stage: Stage, name: string): Promise<Session | undefined> =>
  (await sessions(stage)).find(({ session }) => session === name);
/** Who saved the versions of a file, newest first. */
const savers = async (stage: Stage, file: string) => (await stage.log(file)).map(({ session }) => session);
const write = (agent: Awaited<ReturnType<Stage['agent']>>, path: string, text: string) =>
  agent.run((fs, _, file, content) => fs.writeFileSync(file, content), path, text);

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

test(
  'two runs in one folder are two sessions by name: drafts apart, both lines kept, each named by what it saved',
  staged(60, async (stage) => {
    const one = await stage.runAgent('--session', 'first');
    const folder = stage.folder();
    const path = `${folder}/MEMORY.md`;
    await stage.sh('printf -- "- old\\n" >"$1"', path);
    const two = await stage.runAgent();
    for (const agent of [one, two]) expect(await read(agent, path)).toBe('- old\n');
    await begin(one, path, '- old\n- of one\n');
    await begin(two, path, '- of two\n- old\n');
    expect([await read(one, path), await read(two, path)]).toEqual(['- old\n- of one\n', '- of two\n- old\n']);
    // The program is named like a harness: what was registered counts all the same.
    expect((await stage.status()).sessions).toEqual([expect.stringMatching(/^claude-[0-9a-f]{8}$/), 'first']);
    await end(one);
    await end(two);
    expect(await stage.sh('cat "$1"', path)).toBe('- of two\n- old\n- of one\n');
    const list = await sessions(stage);
    const [{ session: fresh = '' } = {}] = list;
    expect(fresh).toMatch(/^claude-[0-9a-f]{8}$/);
    expect(await savers(stage, 'MEMORY.md')).toEqual([fresh, 'first', expect.stringMatching(/^session \d+$/)]);
    expect(list).toMatchObject([
      { session: fresh, running: true },
      { session: 'first', running: true },
    ]);
    for (const [agent, { processes = [] } = {}] of [
      [two, list[0]],
      [one, list[1]],
    ] as const) {
      // mend run and its process for signals, and the program with its child.
      expect(processes).toHaveLength(4);
      expect(processes).toContain(agent.pid);
    }
    await Promise.all([one.exit(), two.exit()]);
    await until(async () => (await sessions(stage)).every(({ running }) => !running), 'the sessions to stop');
    expect((await sessions(stage)).map(({ processes }) => processes)).toEqual([[], []]);
  }),
  90_000,
);

test(
  'all that a run starts shares its draft, also what lost its parents, and what is left when it ends',
  staged(60, async (stage) => {
    const agent = await stage.runAgent('--session', 'gardener');
    const path = `${stage.folder()}/note.md`;
    const log = `${stage.user.home}/seen`;
    await begin(agent, path, 'draft');
    expect(await program(agent, 'setsid --wait cat "$1"', path)).toBe('draft');
    // Its parents end at once; it lives in a POSIX session of its own.
    const orphan = `setsid sh -c 'until test -e "$2-go"; do sleep 0.05; done; cat "$1" >"$2"; touch "$2-read"
      until test -e "$2-last"; do sleep 0.05; done; echo more >>"$1"' sh "$1" ${log} </dev/null >/dev/null 2>&1 &`;
    await program(agent, `(${orphan})`, path);
    await stage.sh('touch "$1-go"; until test -e "$1-read"; do sleep 0.05; done', log);
    expect(await stage.sh('cat "$1"', log)).toBe('draft');
    await end(agent);
    await agent.exit();
    const left = await sessionOf(stage, 'gardener');
    expect(left).toMatchObject({ running: false, processes: expect.arrayContaining([expect.any(Number)]) });
    await stage.sh('touch "$1-last"', log);
    await Promise.all((left?.processes ?? []).map((pid) => gone(pid)));
    expect(await stage.sh('cat "$1"', path)).toBe('draftmore\n');
    expect(await savers(stage, 'note.md')).toEqual(['gardener', 'gardener']);
    expect(await sessionOf(stage, 'gardener')).toMatchObject({ running: false, processes: [] });
  }),
  90_000,
);

describe('a death in the middle', () => {
  test.each(['mend run', 'the server', 'all of the daemon', 'the daemon, in order'])(
    'of %s leaves the session what it is',
    (victim) =>
      staged(60, async (stage) => {
        const launcher = stage.launcher('--session', 'gardener');
        // A program in front of mend, with whose end those of the test are not closed.
        const command = ['sh', '-c', '"$@"; sleep 600', 'sh', ...launcher.command] as const;
        const agent = await Agent.start(stage.user, { ...launcher, command });
        const path = `${stage.folder()}/note.md`;
        await write(agent, path, 'old\n');
        expect(await read(agent, path)).toBe('old\n');
        await stage.sh('echo theirs >>"$1"', path);
        const { pid } = await stage.status();
        if (victim === 'mend run') {
          const shell = parentOf(agent.pid);
          const runner = parentOf(shell);
          process.kill(runner, 'SIGKILL');
          // The last of its threads may end a little later than the first.
          await until(() => parentOf(shell) !== runner, 'mend run to be gone');
        } else if (victim === 'the server') {
          process.kill(pid ?? 0, 'SIGKILL');
          await until(async () => ![pid, null].includes((await stage.status()).pid), 'another server');
        } else {
          await stage.endDaemon(victim === 'all of the daemon' ? 'SIGKILL' : 'SIGTERM');
          await stage.mount();
        }
        expect(await sessionOf(stage, 'gardener')).toMatchObject({ running: true });
        // Made from what it knew before.
        await write(agent, path, 'ours\nold\n');
        expect(await stage.sh('cat "$1"', path)).toBe('ours\nold\ntheirs\n');
        expect((await savers(stage, 'note.md')).slice(0, 1)).toEqual(['gardener']);
        process.kill(agent.pid, 'SIGTERM');
        await until(async () => (await sessionOf(stage, 'gardener'))?.running === false, 'the session to stop');
      })(),
    90_000,
  );
});

test(
  'a session that is gone on with knows what it knew, also when no daemon ran meanwhile; another one does not',
  staged(90, async (stage) => {
    const first = await stage.runAgent('--session', 'gardener');
    const path = `${stage.folder()}/MEMORY.md`;
    await stage.sh('printf -- "- old\\n" >"$1"', path);
    expect(await read(first, path)).toBe('- old\n');
    await first.exit();
    await stage.sh('printf -- "- theirs\\n" >>"$1"', path);
    await stage.mend(['unmount', '--all']);
    const again = await stage.runAgent('--session', 'gardener');
    await write(again, path, '- ours\n- old\n');
    expect(await stage.sh('cat "$1"', path)).toBe('- ours\n- old\n- theirs\n');
    await again.exit();
    const other = await stage.runAgent('--session', 'visitor');
    await write(other, path, '- new\n');
    expect(await stage.sh('cat "$1"', path)).toBe('- new\n');
    await other.exit();
    expect((await sessions(stage)).map(({ session }) => session)).toEqual(['visitor', 'gardener']);
  }),
  120_000,
);

test(
  'a run within a run is a session of its own, in which the draft of the outer one is not seen',
  staged(60, async (stage) => {
    const outer = await stage.runAgent('--session', 'outer');
    const path = `${stage.folder()}/note.md`;
    await write(outer, path, 'old\n');
    await begin(outer, path, 'draft of the outer\n');
    const mend = `'${process.execPath}' '${programPath()}'`;
    const inner = `cd '${stage.repository}'; ${mend} run --session inner claude -c 'cat "$0"; echo inner >>"$0"' "$1"`;
    expect(await program(outer, inner, path)).toBe('old\n');
    expect(await read(outer, path)).toBe('draft of the outer\n');
    await end(outer);
    expect(await stage.sh('cat "$1"', path)).toBe('draft of the outer\ninner\n');
    expect(await savers(stage, 'note.md')).toEqual(['outer', 'inner', 'outer']);
    expect(await sessionOf(stage, 'inner')).toMatchObject({ running: false, processes: [] });
    expect(await sessionOf(stage, 'outer')).toMatchObject({ running: true });
  }),
  90_000,
);

test(
  'a session that was ended: its programs are those of the harness, and its name begins anew',
  staged(60, async (stage) => {
    const agent = await stage.runAgent('--session', 'gardener');
    const path = `${stage.folder()}/note.md`;
    await stage.sh('printf -- "- old\\n" >"$1"', path);
    await read(agent, path);
    await begin(agent, `${stage.folder()}/open.md`, 'begun');
    const said = await stage.mend(['session', 'end', 'gardener']);
    expect(said.stdout).toBe('ended session "gardener"\n');
    expect(said.stderr).toMatch(/^mend: 4 processes of it still run, [^\n]+\n$/);
    expect(await sessions(stage)).toEqual([]);
    // What was open goes on as it began.
    await end(agent);
    expect(await savers(stage, 'open.md')).toEqual(['gardener']);
    await write(agent, path, '- of the harness\n');
    expect(await savers(stage, 'note.md')).toEqual([`claude ${parentOf(agent.pid)}`, expect.any(String)]);
    const next = await stage.runAgent('--session', 'gardener');
    await stage.sh('printf -- "- theirs\\n" >"$1"', path);
    // It never looked.
    await write(next, path, '- of the next\n');
    expect(await stage.sh('cat "$1"', path)).toBe('- of the next\n');
    const all = await stage.json<Session[]>(['session', 'list', '--all']);
    expect(all.map(({ session, ended }) => [session, ended === null])).toEqual([
      ['gardener', true],
      ['gardener', false],
    ]);
    await Promise.all([agent.exit(), next.exit()]);
    expect((await stage.mend(['session', 'end', 'nobody'], { status: 1 })).stderr).toMatch(/no session "nobody"/);
  }),
  90_000,
);
