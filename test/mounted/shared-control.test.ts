import { join } from 'node:path';
import { expect, test } from 'vitest';
import { programPath } from '../support/program.js';
import { Agent, shared } from './agent.js';
import { begin, end, program, read } from './agent-work.js';
import { gone, type Stage, staged, until } from './stage.js';

const write = (agent: Agent, path: string, text: string) =>
  agent.run((fs, _, file, content) => fs.writeFileSync(file, content), path, text);
const names = (agent: Agent, path: string) =>
  agent.run((fs, _, folder) => fs.readdirSync(folder, { recursive: true }).sort(), path);

/** Memory with a few notes and a folder. */
async function furnish(stage: Stage, folder: string): Promise<void> {
  await stage.sh(
    `mkdir "$1/sub"; for n in 1 2 3 4 5 6 7 8 9; do echo $n >"$1/note-$n.md"; echo $n >"$1/sub/note-$n.md"; done
     echo "- a secret" >"$1/MEMORY.md"; echo deep >"$1/sub/deep.md"; echo "- draft" >"$1/draft.md"
     head -c 20000 /dev/zero | tr '\\0' x >"$1/big.md"`,
    folder,
  );
}

test(
  'a session that runs where its memory is not mounted is not shared: it would see the plain folder',
  staged(60, async (stage) => {
    const agent = await stage.runAgent('--session', 'roses');
    await stage.sh('echo seen >"$1/note.md"', stage.folder());
    await stage.mend(['unmount']);
    expect(await names(agent, stage.folder())).toEqual(['note.md']);
    const { stderr } = await stage.mend(['session', 'share', 'roses'], { status: 1 });
    expect(stderr).toMatch(/is not mounted, .* run "mend mount --project \S+" first, or end them\n$/);
    expect(JSON.parse((await stage.mend(['session', 'list', '--json'])).stdout)).toMatchObject([{ shared: null }]);
    await stage.mend(['mount']);
    await stage.mend(['session', 'share', 'roses']);
    expect(await names(agent, stage.folder())).toEqual([]);
    await agent.exit();
  }),
  90_000,
);

test(
  'nothing is left of what a session had hold of when it was shared, and nothing of it is saved',
  staged(60, async (stage) => {
    const [agent, other] = [await stage.runAgent('--session', 'roses'), await stage.agent()];
    const folder = stage.folder();
    await furnish(stage, folder);
    const before = await names(other, folder);
    const looks = shared('before-and-after.py', join(import.meta.dirname, 'before-and-after.py'));
    const [ready, go] = [`${stage.user.home}/ready`, `${stage.user.home}/go`];
    const seen = program(agent, `python3 ${looks} "$1" ${ready} ${go}`, folder);
    await stage.sh('until test -e "$1"; do sleep 0.05; done', ready);
    await begin(other, `${folder}/note-1.md`, 'of the other session');
    await other.run((fs, own, path) => {
      own['held'] = fs.openSync(path, 'r');
      process.chdir(path.replace(/note-3\.md$/, 'sub'));
    }, `${folder}/note-3.md`);
    const { stdout } = await stage.mend(['session', 'share', 'roses']);
    expect(stdout).toMatch(/^shared session "roses": .*cannot be undone\n$/);
    // Others look and map meanwhile, and so does a kernel that remembers what they are told.
    expect(await names(other, folder)).toEqual(before);
    expect(
      await program(
        other,
        'python3 -c "import mmap,sys; f=open(sys.argv[1]); m=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ,flags=mmap.MAP_PRIVATE); print(len(bytes(m)))" "$1"',
        `${folder}/big.md`,
      ),
    ).toBe('20000\n');
    await stage.sh('touch "$1"', go);
    const told = JSON.parse(await seen) as Record<string, unknown>;
    const times = await other.run((fs, _, path) => {
      const { mtimeNs, ctimeNs } = fs.statSync(path, { bigint: true });
      return [`${mtimeNs}`, `${ctimeNs}`];
    }, folder);
    expect(times.filter((time) => (told['times of the folder'] as string[]).includes(time))).toEqual([]);
    expect(told).toEqual({
      listing: [],
      'rest of a listing': [],
      'rest of a listing of a folder': 'ENOENT',
      rewound: ['.', '..'],
      'by a descriptor': ['.', '..'],
      'working folder': expect.stringMatching(/^E(STALE|NOENT)$/),
      'parent of it': [],
      'a name in it': 'ESTALE',
      stat: 'ENOENT',
      'stat below': 'ENOENT',
      access: -1,
      'path only': 'ENOENT',
      open: 'ENOENT',
      'open again': 'ESTALE',
      'open by a path only': 'ESTALE',
      'at a folder': 'ESTALE',
      read: 'ESTALE',
      'read on': 'ESTALE',
      size: 'ESTALE',
      end: 'ESTALE',
      'size of the draft': 'ESTALE',
      'mapped, seen before': 'SIGBUS',
      'mapped, not seen': 'SIGBUS',
      'times of the folder': [expect.any(String), expect.any(String)],
      'links of the folder': 2,
      files: 0,
      blocks: 0,
      write: 'ESTALE',
      cut: 'ESTALE',
      'write what was made': 'ESTALE',
      'put in place': 'ENOENT',
      remove: 'ENOENT',
      close: [null, null, null, null],
      'make in the old folder': 'ESTALE',
      'same mode': 0o700,
    });
    // The other session goes on, with its draft, its open file and the folder that it works in.
    await end(other);
    expect(await names(other, folder)).toEqual(before);
    expect(await read(other, `${folder}/note-1.md`)).toBe('of the other session');
    expect(
      await other.run((fs, own) => [
        fs.readSync(own['held'] ?? -1, Buffer.alloc(9)),
        process.cwd(),
        fs.readlinkSync(`/proc/self/fd/${own['held']}`),
      ]),
    ).toEqual([2, `${folder}/sub`, `${folder}/note-3.md`]);
    expect(await read(other, `${folder}/draft.md`)).toBe('- draft\n');
    for (const file of ['draft.md', 'MEMORY.md']) expect(await stage.kinds(file)).toEqual(['saved']);
    expect((await stage.log()).map(({ file }) => file)).not.toContain('made.md');
    await stage.mend(['store', 'check']);
    await Promise.all([agent.exit(), other.exit()]);
  }),
  90_000,
);

test(
  'what it writes lies in a folder of its own, through a death of the server and a second run, until it is ended',
  staged(60, async (stage) => {
    const first = await stage.runAgent('--session', 'roses');
    const other = await stage.agent();
    const folder = stage.folder();
    await furnish(stage, folder);
    await stage.mend(['session', 'share', 'roses']);
    const before = await names(other, folder);
    expect(await names(first, folder)).toEqual([]);
    await program(
      first,
      `cd "$1"; mkdir beds; echo one >beds/a.md; echo two >>beds/a.md; cp beds/a.md MEMORY.md; mv beds/a.md beds/b.md
       echo x >gone.md; rm gone.md; ln -s a b 2>/dev/null && exit 9; echo mine >note-1.md; setsid sh -c 'echo child >child.md'
       printf new >MEMORY.md.tmp.1.0123456789ab; mv MEMORY.md.tmp.1.0123456789ab MEMORY.md; sync MEMORY.md`,
      folder,
    );
    const own = ['MEMORY.md', 'beds', 'beds/b.md', 'child.md', 'note-1.md'];
    expect(await names(first, folder)).toEqual(own);
    await begin(first, `${folder}/open.md`, 'begun, ');
    expect(await names(other, folder)).toEqual(before);
    expect(await read(other, `${folder}/note-1.md`)).toBe('1\n');
    const { pid } = await stage.status();
    process.kill(pid ?? 0, 'SIGKILL');
    expect(await names(first, folder)).toEqual([...own, 'open.md'].sort());
    expect(
      await first.run(
        (fs, _, path) => [fs.readFileSync(`${path}/MEMORY.md`, 'utf8'), fs.readFileSync(`${path}/beds/b.md`, 'utf8')],
        folder,
      ),
    ).toEqual(['new', 'one\ntwo\n']);
    await first.run((fs, own_) => fs.writeSync(own_['fd'] ?? -1, 'and ended'));
    await end(first);
    expect(await read(first, `${folder}/open.md`)).toBe('begun, and ended');
    expect(await names(other, folder)).toEqual(before);
    await write(other, `${folder}/note-2.md`, 'saved beside it');
    expect(await stage.json(['session', 'list'])).toMatchObject([
      { session: 'roses', running: true, shared: expect.any(String) },
    ]);
    await first.exit();
    await until(
      async () => (await stage.json<{ running: boolean }[]>(['session', 'list'])).every(({ running }) => !running),
      'the run to end',
    );

    const second = await stage.runAgent('--session', 'roses');
    expect(await names(second, folder)).toEqual([...own, 'open.md'].sort());
    expect(await second.code((fs, _, path) => fs.readFileSync(path), `${folder}/sub/deep.md`)).toBe('ENOENT');
    const all = await stage.mend(['memory', 'log']);
    expect(all.stdout).not.toMatch(/child\.md|open\.md|beds|roses/);
    await stage.sh('! cat "$1"/store.db* | grep -aq "and ended"', stage.store);
    await stage.mend(['session', 'end', 'roses']);
    expect(await names(second, folder)).toEqual(before);
    expect(await stage.sh('ls "$1/run"', stage.store)).not.toContain('scratch');
    await Promise.all([second.exit(), other.exit()]);
  }),
  90_000,
);

test(
  'nothing shows while it looks in a hurry and others do the same, and others see everything at every moment',
  staged(60, async (stage) => {
    const agent = await stage.runAgent('--session', 'roses');
    const others = [await stage.agent(), await stage.agent('inherited')];
    const folder = stage.folder();
    await furnish(stage, folder);
    const looking = shared('looking.py', join(import.meta.dirname, 'looking.py'));
    const [first, last] = [`${stage.user.home}/first`, `${stage.user.home}/last`];
    const look = (who: typeof agent, expected: string) =>
      program(who, `python3 ${looking} ${expected} "$1" ${first} ${last}`, folder).then((text) => JSON.parse(text));
    const seen = [look(agent, 'hidden'), ...others.map((other) => look(other, 'shown'))];
    await stage.sh('sleep 0.5');
    await stage.mend(['session', 'share', 'roses']);
    await stage.sh('touch "$1"; sleep 1', first);
    // Another server is no other.
    const { pid } = await stage.status();
    process.kill(pid ?? 0, 'SIGKILL');
    await until(async () => ![pid, null].includes((await stage.status()).pid), 'another server');
    await stage.sh('sleep 1; touch "$1"', last);
    const results = await Promise.all(seen);
    for (const result of results) expect(result).toEqual({ rounds: expect.any(Number), wrong: {} });
    for (const { rounds } of results) expect(rounds).toBeGreaterThan(2);
    await Promise.all([agent, ...others].map((one) => one.exit()));
  }),
  90_000,
);

test(
  'all that it starts stays in it: without its parents, by another run, by mend itself, and on another mount',
  staged(60, async (stage) => {
    const launcher = stage.launcher('--session', 'roses');
    const command = ['sh', '-c', '"$@"; sleep 600', 'sh', ...launcher.command] as const;
    const agent = await Agent.start(stage.user, { ...launcher, command });
    const folder = stage.folder();
    await furnish(stage, folder);
    const home = `${stage.user.home}/other`;
    await stage.sh('mkdir "$1"', home);
    const second = await stage.mount({ home });
    const [go, seen] = [`${stage.user.home}/go`, `${stage.user.home}/seen`];
    // One that has lost its parents before, and one that loses them after.
    const lists = (name: string) =>
      `until test -e ${go}; do sleep 0.05; done; ls "$1" "$2" | grep -c md >${seen}-${name}`;
    const orphan = (name: string) => `(setsid sh -c '${lists(name)}' sh "$1" ${second} </dev/null >/dev/null 2>&1 &)`;
    await program(agent, orphan('before'), folder);
    await stage.mend(['session', 'share', 'roses']);
    await program(agent, orphan('after'), folder);
    await program(agent, 'ls "$1" >/dev/null', folder);
    const mend = (...args: string[]) => `"${process.execPath}" "${programPath()}" ${args.join(' ')}`;
    for (const args of [
      ['memory'],
      ['memory', 'show', 'MEMORY.md'],
      ['session', 'end', 'roses'],
      ['unmount', '--all'],
      ['store', 'backup'],
    ])
      expect(await program(agent, `${mend(...args)} 2>&1 || echo status $?`, folder)).toMatch(
        /^mend: session "roses" is steered by several people: [^\n]*\nstatus 1\n$/,
      );
    const within = `cd ${stage.repository}; ${mend('run', '--session', 'within', 'claude', '-c', `'ls "$0" | wc -l; exit $?'`, folder)}`;
    expect(await program(agent, within, folder)).toBe('0\n');
    expect(await stage.json(['session', 'list'])).toMatchObject([
      { session: 'within', shared: expect.any(String) },
      { session: 'roses', shared: expect.any(String) },
    ]);
    const refused = await stage.mend(['unmount', '--all'], { status: 1 });
    expect(refused.stderr).toMatch(/session "roses" is shared and runs/);
    const [runner = 0] = (await stage.json<{ session: string; processes: number[] }[]>(['session', 'list'])).flatMap(
      ({ session, processes }) => (session === 'roses' ? processes : []),
    );
    process.kill(runner, 'SIGKILL');
    await gone(runner);
    await stage.sh('touch "$1"; until test -s "$2-before" && test -s "$2-after"; do sleep 0.05; done', go, seen);
    expect(await stage.sh('cat "$1-before" "$1-after"', seen)).toBe('0\n0\n');
    expect(await names(agent, folder)).toEqual([]);
    expect(await names(agent, second)).toEqual([]);
    await write(agent, `${folder}/own.md`, 'seen on both');
    expect(await read(agent, `${second}/own.md`)).toBe('seen on both');
    expect(await stage.sh('ls "$1"', second)).not.toContain('own.md');
    await stage.mend(['session', 'end', 'within']);
    process.kill(agent.pid, 'SIGTERM');
    await gone(agent.pid);
  }),
  90_000,
);

test(
  'the kernel asks for everything while a process of it runs, and remembers again when there is none',
  staged(60, async (stage) => {
    const agent = await stage.runAgent('--session', 'roses');
    const folder = stage.folder();
    await furnish(stage, folder);
    const { pid } = await stage.status();
    /** Whether names and attributes are known to the kernel, as a server that does not answer shows. */
    const remembers = async (): Promise<boolean> => {
      await stage.sh('stat "$1" >/dev/null; sleep 0.05; stat "$1" >/dev/null', `${folder}/MEMORY.md`);
      process.kill(pid ?? 0, 'SIGSTOP');
      try {
        return (
          (await stage.sh('timeout 1 stat "$1" >/dev/null && echo yes || echo no', `${folder}/MEMORY.md`)) === 'yes\n'
        );
      } finally {
        process.kill(pid ?? 0, 'SIGCONT');
      }
    };
    expect(await remembers()).toBe(true);
    await stage.mend(['session', 'share', 'roses']);
    expect(await remembers()).toBe(false);
    await agent.exit();
    await until(remembers, 'the kernel to remember again');
    const again = await stage.runAgent('--session', 'roses');
    expect(await remembers()).toBe(false);
    expect(await names(again, folder)).toEqual([]);
    await stage.mend(['session', 'end', 'roses']);
    expect(await remembers()).toBe(true);
    await again.exit();
  }),
  90_000,
);
