import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Agent } from './agent.js';
import { type Stage, staged, until } from './stage.js';

/** Bytes of the disk: what the store takes when it starts, and room for a few hundred writes. */
export const SIZE = '40m';

/** The test on a stage whose store lies on a small disk. */
export const onSmallDisk = (seconds: number, body: (stage: Stage, folder: string, filler: string) => Promise<void>) =>
  staged(seconds, async (stage) => {
    const { uid, gid } = stage.user;
    mkdirSync(stage.store);
    const options = `size=${SIZE},mode=700,uid=${uid},gid=${gid}`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'mend-small', stage.store]);
    try {
      const folder = await stage.mount();
      // What the daemon plays for itself when it starts takes room, too, and gives it back.
      const rehearses = () => readdirSync(join(stage.store, 'run')).some((name) => name.startsWith('rehearsal-'));
      await until(() => !rehearses(), 'the rehearsal to end');
      await body(stage, folder, join(stage.store, 'filler'));
    } finally {
      execFileSync('umount', ['--lazy', stage.store]);
    }
  });

/** Takes what room the disk has, and then what the store made for itself before, until a write of it fails. */
export async function fill(stage: Stage, agent: Agent, folder: string, filler: string): Promise<void> {
  await stage.sh('dd if=/dev/zero of="$1" bs=64k 2>/dev/null || test -s "$1"', filler);
  const code = await agent.code((fs, own, dir) => {
    const { randomBytes } = process.getBuiltinModule('node:crypto');
    own['filling'] ??= fs.openSync(`${dir}/filling.md`, 'w');
    for (let round = 0; round < 20_000; round++) fs.writeSync(own['filling'], randomBytes(20_000), 0, 20_000, 0);
  }, folder);
  expect(code).toBe('ENOSPC');
}
