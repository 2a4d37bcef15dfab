import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ManifestJson } from '../import/credit-manifest.js';
import { SAMPLES } from '../import/secret-samples.js';
import { listProcesses } from '../support/processes.js';
import { programPath } from '../support/program.js';
import { isRoot } from '../support/users.js';
import { CreditStage } from './credit-stage.js';
import { expectRefusal, type Person, snapshot, until } from './person.js';

/** A project of which nobody has memory. */
const PATHS = 'git@example.org:garden/paths.git';

const SECRET = SAMPLES[0]?.text ?? '';

describe.runIf(isRoot)('mend credit (only root can make users)', () => {
  let stage: CreditStage;

  beforeEach(() => {
    stage = new CreditStage();
  });

  afterEach(async () => {
    await stage.remove();
  });

  test('each gets what is theirs, live; what is of nobody is kept and counted; again changes nothing', async () => {
    const [ada, ben] = [await stage.person('ada'), await stage.person('ben')];
    stage.worktree('w1', 'ada', {
      'MEMORY.md': '- [Beans](beans.md): when\n',
      'sub/beans.md': 'Beans go out in May.\n',
    });
    stage.worktree('w2', 'ben', { 'peas.md': 'Peas go out in March.\n' });
    stage.worktree('w3', null, { 'a.md': 'a\n', 'b.md': 'b\n', 'c.md': 'c\n' });
    stage.worktree('w4', null, { 'gravel.md': 'gravel\n' });
    Object.assign(stage.manifest.worktrees.at(-1) ?? {}, { project: { remote: PATHS } });
    await ada.done('mount');
    const before = everything(stage);
    const dry = await stage.credit('--dry-run');
    expect(everything(stage)).toEqual(before);

    const done = await stage.credit();
    expect(done).toMatchObject({ code: 0, stderr: '', stdout: dry.stdout });
    expect(done.stdout).toMatch(/^credited {6}r-w1 \(claude, worktree w1\) to ada: 2 added, as the record .*"ada"$/m);
    expect(done.stdout).toMatch(
      /^not credited {2}r-w3 .*: 3 files kept where they are, as its home has no record, and/m,
    );
    expect(done.stdout).toMatch(/^4 readings: 2 credited, 2 not credited$/m);
    expect(await ada.shell('cat "$M/sub/beans.md"')).toBe('Beans go out in May.\n');
    expect(await ada.json('memory', 'log', 'sub/beans.md')).toMatchObject([
      { kind: 'imported', machine: 'worktree w1' },
    ]);
    expect(await ben.done('memory', 'show', 'peas.md')).toBe('Peas go out in March.\n');
    for (const { store, user } of [ada, ben])
      expect(statSync(join(store, 'store.db'))).toMatchObject({ uid: user.uid, gid: user.gid, mode: 0o100600 });
    expect(readFileSync(join(ben.store, 'store.db')).includes('Beans go out')).toBe(false);

    const line = 'memory from before per-person homes, not credited · 3 files';
    expect(done.stdout).toContain('\nmemory from before per-person homes, not credited · 4 files\n');
    expect(await stage.says(ben, 'memory')).toContain(`\n${line}\n`);
    const listed = JSON.parse(await stage.says(ada, 'memory', '--json')) as unknown[];
    const entry = { harness: null, file: null, bytes: null, modified: null, versions: null, notes: [line] };
    expect(listed.at(-1)).toEqual(entry);
    // So does who has no store, and who has none of that project.
    const cleo = await stage.person('cleo');
    expect(await stage.says(cleo, 'memory')).toBe(`${cleo.repository} has no memory yet\n${line}\n`);
    expect(JSON.parse(await stage.says(cleo, 'memory', '--json'))).toEqual([entry]);
    expect(existsSync(cleo.store)).toBe(false);
    await ada.shell(`git init -q "$HOME/paths"; git -C "$HOME/paths" remote add origin ${PATHS}`);
    const paths = { cwd: join(ada.user.home, 'paths'), env: stage.env };
    expect(await ada.mend(['memory'], paths)).toMatchObject({ code: 0, stdout: expect.stringContaining('· 1 file\n') });
    await ada.shell('rm -r "$HOME/paths/.git"');
    expectRefusal(await ada.mend(['memory'], paths), 1, /there is no memory of \S+ yet/);
    expect(await ada.user.run(['ls', join(stage.system, 'uncredited')])).toMatchObject({ code: 2, stdout: '' });
    expect(await ada.user.run(['ls', join(stage.system, 'credited')])).toMatchObject({ code: 2, stdout: '' });

    const was = [await ada.json('memory', 'log'), await ben.json('memory', 'log')];
    expect((await stage.entries(0)).map(({ outcomes }) => outcomes)).toEqual([{ same: 2 }, { same: 1 }, {}, {}]);
    expect([await ada.json('memory', 'log'), await ben.json('memory', 'log')]).toEqual(was);
    // What is found out later takes the line away.
    const worktree = stage.manifest.worktrees[2];
    worktree?.sessions.list.push({ id: 'a', owner: 'ben' });
    expect((await stage.entries(0))[2]).toMatchObject({ outcome: 'credited', person: 'ben', outcomes: { added: 3 } });
    expect(await stage.says(ben, 'memory')).not.toContain('not credited');
  }, 200_000);

  test('a final reading credits what a provisional one did not, merged with what the person made of it', async () => {
    const ada = await stage.person('ada');
    const first = stage.worktree('w1', 'ada', {
      'same.md': 'same\n',
      'gone.md': 'gone\n',
      'news.md': 'removed, then changed\n',
      'both.md': 'one\n\ntwo\n\nthree\n',
    });
    first.final = false;
    expect((await stage.entries(0))[0]).toMatchObject({ outcome: 'credited', outcomes: { added: 4 } });
    await ada.done('memory', 'rm', 'gone.md', 'news.md');
    await ada.done('mount');
    await ada.shell('sed -i s/one/ONE/ "$M/both.md"');

    const last = stage.reading('r2', {
      'same.md': 'same\n',
      'gone.md': 'gone\n',
      'news.md': 'changed\n',
      'both.md': 'one\n\ntwo\n\nTHREE\n',
      'late.md': 'late\n',
    });
    last.time = '2026-02-01T00:00:00Z';
    stage.manifest.worktrees[0]?.readings.push(last);
    const [superseded, final] = await stage.entries(0);
    expect(superseded).toMatchObject({ outcome: 'passed over' });
    expect(final?.outcomes).toEqual({ added: 2, merged: 1, 'not added': 1, same: 1 });
    expect(await ada.shell('cd "$M"; ls; cat both.md')).toBe(
      'both.md\nlate.md\nnews.md\nsame.md\nONE\n\ntwo\n\nTHREE\n',
    );
    // A manifest of before has nothing more to say.
    stage.manifest.worktrees[0]?.readings.pop();
    expect((await stage.entries(0))[0]).toMatchObject({ outcome: 'passed over' });
  }, 200_000);

  test('what one person was credited with stays there when the evidence changes, and is not credited again', async () => {
    const [ada, ben] = [await stage.person('ada'), await stage.person('ben')];
    const first = stage.worktree('w1', 'ada', { 'a.md': 'of Ada\n', 'b.md': 'first\n' });
    first.final = false;
    await stage.entries(0);
    const worktree = stage.manifest.worktrees[0];
    if (!worktree) throw new Error('there is no worktree');
    const last = stage.reading('r2', { 'a.md': 'of Ada\n', 'b.md': 'second\n' });
    worktree.readings = [{ ...last, time: '2026-02-01T00:00:00Z' }];
    worktree.homes = [];
    for (const reading of worktree.readings) reading.home = null;
    const nobody = (await stage.entries(0))[0];
    expect(nobody).toMatchObject({ outcome: 'not credited', credited_before: 1, uncredited: 1 });
    worktree.sessions.list = [{ id: 's', owner: 'ben' }];
    const [entry] = await stage.entries(0);
    expect(entry).toMatchObject({ person: 'ben', outcomes: { added: 1 }, credited_before: 1, uncredited: 0 });
    expect(await ada.done('memory', 'show', 'a.md')).toBe('of Ada\n');
    expect(await ben.json('memory')).toMatchObject([{ file: 'b.md' }]);
    expect((await stage.credit()).stdout).toContain('; 1 file of it was credited before, and stays where that was');
  }, 200_000);

  test('a person credits what is theirs, and nothing else', async () => {
    const [ada, ben] = [await stage.person('ada'), await stage.person('ben')];
    stage.worktree('w1', 'ada', {});
    stage.worktree('w2', 'ben', { 'peas.md': 'peas\n' });
    const own = join(ada.user.home, 'reading');
    await ada.shell('mkdir "$HOME/reading"; echo beans > "$HOME/reading/beans.md"');
    for (const reading of stage.manifest.worktrees[0]?.readings ?? []) reading.folder = own;
    const result = await ada.mend(['credit', stage.write()], { env: stage.env });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/^credited .* to ada: 1 added/m);
    expect(result.stdout).toMatch(/^skipped .*: it is of "ben": an administrator can credit it$/m);
    expect(await ada.done('memory', 'show', 'beans.md')).toBe('beans\n');
    expect([existsSync(ben.store), existsSync(stage.system)]).toEqual([false, false]);
  }, 200_000);

  test('what cannot be credited is named, and keeps nothing else from being credited', async () => {
    const ada = await stage.person('ada');
    stage.manifest.people.push(
      { id: 'ben', user: null },
      { id: 'root', user: 0 },
      { id: 'eve', user: 'no-such-user-here' },
      { id: 'dan', user: ada.user.uid, store: '/proc/nowhere' },
    );
    const good = stage.worktree('w1', 'ada', { 'good.md': 'good\n', 'secret.md': SECRET });
    symlinkSync('/etc/passwd', join(good.folder, 'link.md'));
    writeFileSync(join(good.folder, 'large.md'), Buffer.alloc(1024 ** 2 + 1, 'x'));
    mkdirSync(join(good.folder, 'sub'));
    symlinkSync('/etc', join(good.folder, 'sub/etc'));
    writeFileSync(Buffer.concat([Buffer.from(`${good.folder}/bad`), Buffer.from([0xff])]), 'bad');
    for (const id of ['ben', 'root', 'eve', 'dan']) stage.worktree(id, id, { 'a.md': `${id}\n` });
    stage.worktree('linked', 'ada', { 'a.md': 'a\n' }).folder = join(stage.readings, 'link');
    symlinkSync(join(stage.readings, 'r-linked'), join(stage.readings, 'link'));
    stage.worktree('missing', 'ada', {}).folder = '/nosuch';
    const { code, stdout, stderr } = await stage.credit();
    expect([code, stderr]).toEqual([
      3,
      'mend: 6 readings could not be credited: mend what is named, and run the command again\n',
    ]);
    for (const words of [
      /left out link.md: it is a symbolic link$/,
      /left out bad\S+: it has a name that is not valid UTF-8$/,
      /left out large.md: it is larger than 1048576 bytes$/,
      /left out secret.md: it may hold a secret in line \d+ \([^)]+\)$/,
      /left out sub\/etc: it is a symbolic link$/,
      /to ben: "ben" has no Linux user on this machine: /,
      /to root: user "0" is root, who is no person: /,
      /to eve: this machine has no user "no-such-user-here": /,
      /to dan: cannot make the store folder \/proc\/nowhere: /,
      /r-linked .*: its folder \S+ is no folder, or leads through a symbolic link: /,
      /r-missing .*: its folder \/nosuch cannot be read \(ENOENT\): /,
    ])
      expect(stdout).toMatch(new RegExp(words.source, 'm'));
    expect(stdout + stderr).not.toContain(SECRET.slice(40, 80));
    expect((await ada.json<{ file: string }[]>('memory')).map(({ file }) => file)).toContain('good.md');
    expectRefusal(await stage.root.run([process.execPath, programPath(), 'credit', '/nosuch']), 1, /ENOENT/);
  }, 200_000);

  test('the example of the documentation does what it says', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/credit.md'), 'utf8');
    const block = (name: string) => new RegExp(`\\n\`\`\`${name}\\n(.*?\\n)\`\`\`\\n`, 's').exec(page)?.[1] ?? '';
    for (const id of ['ada', 'ben']) await stage.person(id);
    stage.reading('beds-summer', { 'beans.md': 'beans\n', 'peas.md': 'peas\n' });
    stage.reading('paths', { 'gravel.md': 'gravel\n' });
    const example = JSON.parse(block('json manifest').replaceAll('/srv/readings', stage.readings)) as ManifestJson;
    const { people } = stage.manifest;
    example.people = example.people.map((person) => ({ ...person, ...people.find(({ id }) => id === person.id) }));
    Object.assign(stage.manifest, example);
    expect(await stage.credit('--dry-run')).toEqual({
      code: 0,
      signal: null,
      stderr: '',
      stdout: block('text output'),
    });
  }, 200_000);

  test('a process that is killed half-way is told of, and the next run does the rest', async () => {
    const ada = await stage.person('ada');
    const files = Array.from({ length: 400 }, (_, index) => [`${index}.md`, `note ${index}\n`] as const);
    stage.worktree('w1', 'ada', Object.fromEntries(files));
    execFileSync('usermod', ['--append', '--groups', 'games', ada.user.name]);
    const running = stage.root.run([process.execPath, programPath(), 'credit', stage.write()], {
      env: { ...stage.env, OF_ROOT: 'alone' },
    });
    await until(() => receiver(ada) !== undefined && existsSync(join(ada.store, 'store.db')));
    const pid = receiver(ada) ?? 0;
    process.kill(pid, 'SIGSTOP');
    const { uid, gid } = ada.user;
    const games = execFileSync('getent', ['group', 'games'], { encoding: 'utf8' }).split(':')[2];
    const ids = /^Uid:\t(.*)\nGid:\t(.*)\n(?:.*\n)*?Groups:\t(.*) $/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    expect(ids?.slice(1, 3)).toEqual([Array(4).fill(uid).join('\t'), Array(4).fill(gid).join('\t')]);
    expect(ids?.[3]?.split(' ').sort()).toEqual([String(gid), games].sort());
    const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .map((text) => text.split('=')[0]);
    const wanted = ['HOME', 'LANG', 'LOGNAME', 'MEND_SYSTEM_DIR', 'PATH', 'USER'];
    expect(names.filter((name) => name !== '').sort()).toEqual(wanted);
    process.kill(pid, 'SIGKILL');
    const result = await running;
    // It may have come to some files.
    expect([1, 3]).toContain(result.code);
    expect(result.stdout).toMatch(/^failed .*: it ended before it was done/m);
    const [entry] = await stage.entries(0);
    const { added = 0, same = 0, kept = 0 } = entry?.outcomes ?? {};
    expect(added + same + kept).toBe(400);
    expect(await ada.json('memory')).toHaveLength(400);
  }, 200_000);
});

function receiver(person: Person): number | undefined {
  return listProcesses().find(
    ({ pid, uid, zombie }) => uid === person.user.uid && !zombie && commandOf(pid).endsWith('receive.js\0'),
  )?.pid;
}

function commandOf(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return words.includes('become.js') ? '' : words;
  } catch {
    // It ended since it was listed.
    return '';
  }
}

/** All that a dry run must not write, but for what daemons do by themselves. */
function everything(stage: CreditStage): unknown {
  const system = existsSync(stage.system) ? readdirSync(stage.system, { recursive: true }) : [];
  return [system, stage.people[1] && snapshot(stage.people[1].user.home)];
}
