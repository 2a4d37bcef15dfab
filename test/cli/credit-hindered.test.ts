import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, linkSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isRoot } from '../support/users.js';
import { CreditStage } from './credit-stage.js';

describe.runIf(isRoot)('mend credit where the machine or people are in its way (only root can make users)', () => {
  let stage: CreditStage;

  beforeEach(() => {
    stage = new CreditStage();
  });

  afterEach(() => stage.remove());

  test('where it cannot note what was credited it says so, goes on, and leaves nothing lying', async () => {
    const [ada, ben] = [await stage.person('ada'), await stage.person('ben')];
    stage.worktree('w1', 'ada', { 'beans.md': 'beans\n' });
    stage.worktree('w2', 'ben', { 'peas.md': 'peas\n' });
    stage.worktree('w3', null, { 'kale.md': 'kale\n' });
    mkdirSync(stage.system);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=755', 'none', stage.system]);
    try {
      const folder = join(stage.system, 'credited');
      await stage.root.run(['sh', '-c', 'mkdir -m 700 "$0"; dd if=/dev/zero of="$0/fill" bs=4k', folder]);
      const full = await stage.credit();
      expect(full).toMatchObject({
        code: 3,
        stderr: 'mend: 3 readings could not be credited: mend what is named, and run the command again\n',
      });
      const lines = full.stdout.match(/^failed .* cannot be noted \(ENOSPC\): .*$/gm);
      expect(lines, full.stdout).toHaveLength(3);
      expect(readdirSync(folder).sort()).toEqual(['fill', 'lock']);
      await stage.root.run(['rm', join(folder, 'fill')]);
      expect((await stage.credit()).stdout).toContain('\n3 readings: 2 credited, 1 not credited\n');
      expect(readdirSync(folder)).toHaveLength(4);
    } finally {
      execFileSync('umount', [stage.system]);
    }
    expect(await ada.done('memory', 'show', 'beans.md')).toBe('beans\n');
    expect(await ben.done('memory', 'show', 'peas.md')).toBe('peas\n');
  }, 200_000);

  test('a page that cannot be read is told of, and nobody is credited without it; others are', async () => {
    const [ada, ben] = [await stage.person('ada'), await stage.person('ben')];
    stage.worktree('w1', 'ada', { 'beans.md': 'beans\n' });
    expect((await stage.credit()).code).toBe(0);
    const pages = join(stage.system, 'credited');
    const [page = ''] = readdirSync(pages).filter((name) => name.endsWith('.json'));
    await stage.root.run(['sh', '-c', 'rm "$0" && mkdir "$0"', join(pages, page)]);
    writeFileSync(join(stage.readings, 'r-w1/new.md'), 'new\n');
    stage.worktree('w2', 'ben', { 'peas.md': 'peas\n' });
    const { code, stdout } = await stage.credit();
    expect([code, stdout]).toEqual([
      3,
      expect.stringMatching(/^failed .*\.json, which has what was credited before, cannot/m),
    ]);
    expect(await ada.json('memory')).toHaveLength(1);
    expect(await ben.done('memory', 'show', 'peas.md')).toBe('peas\n');
  }, 200_000);

  test('who got the number of somebody else is not credited: the store may be of that one', async () => {
    const { user, store } = await stage.person('ada');
    stage.worktree('w1', 'ada', { 'beans.md': 'beans\n' });
    mkdirSync(join(stage.system, 'people'), { recursive: true });
    const record = JSON.stringify({ name: 'somebody', enabled: true });
    writeFileSync(join(stage.system, 'people', String(user.uid)), record);
    for (const options of [['--dry-run'], []]) {
      const { code, stdout } = await stage.credit(...options);
      expect([code, stdout]).toEqual([1, expect.stringContaining(`: user ${user.uid} was "somebody" when memory was`)]);
    }
    expect(existsSync(store)).toBe(false);
  }, 200_000);

  test("a second name of somebody else's file, that a person put into a home, is left out", async () => {
    await stage.person('ada');
    const ben = stage.people[0]?.user.uid ?? 0;
    const { folder } = stage.worktree('w1', 'ada', { 'own.md': 'own\n', 'twice.md': 'twice\n', 'shared/a.md': 'a\n' });
    for (const name of ['', 'own.md', 'twice.md']) chownSync(join(folder, name), ben, ben);
    linkSync(join(folder, 'twice.md'), join(stage.readings, 'twice.md'));
    // As with fs.protected_hardlinks=0: proc_sys_fs(5).
    const secret = join(stage.readings, 'secret');
    writeFileSync(secret, 'of root\n', { mode: 0o600 });
    linkSync(secret, join(folder, 'planted.md'));
    await stage.root.run(['chmod', '777', join(folder, 'shared')]);
    linkSync(secret, join(folder, 'shared/planted.md'));
    const { code, stdout } = await stage.credit();
    expect(code).toBe(3);
    expect(stdout).toContain('3 added, 2 left out');
    for (const name of ['planted.md', 'shared/planted.md'])
      expect(stdout).toContain(`left out ${name}: it has a second name, and may be somebody else's\n`);
  }, 200_000);
});
