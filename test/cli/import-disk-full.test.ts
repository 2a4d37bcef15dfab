import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isRoot } from '../support/users.js';
import { Person } from './person.js';

interface Row {
  file: string;
  outcome: string;
  reason: string | null;
}

const FILES = 120;

describe.runIf(isRoot)('a disk that was full (only root can make a small one)', () => {
  test('an import names what did not fit, and the rerun brings the rest', async () => {
    const person = await Person.make();
    const { uid, gid, home } = person.user;
    const store = join(home, 'small');
    mkdirSync(store);
    const options = `mode=700,uid=${uid},gid=${gid}`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=3m,${options}`, 'mend-small', store]);
    try {
      const env = { MEND_STORE_DIR: store };
      await person.shell(
        `mkdir '${home}/copy'; cd '${home}/copy'; for i in $(seq ${FILES}); do head -c 60000 /dev/urandom >$i.bin; done`,
      );
      const importing = async () => {
        const args = ['memory', 'import', '--from', join(home, 'copy'), '--machine', 'laptop', '--json'];
        const { code, stdout, stderr } = await person.mend(args, { env });
        expect(stderr).toBe('');
        return { code, rows: JSON.parse(stdout) as Row[] };
      };
      const counted = (rows: readonly Row[], outcome: string) => rows.filter((row) => row.outcome === outcome).length;

      const first = await importing();
      expect(first.code).toBe(3);
      const fitted = counted(first.rows, 'added');
      expect(fitted).toBeGreaterThan(0);
      expect(fitted).toBeLessThan(FILES);
      const left = first.rows.filter(({ outcome }) => outcome !== 'added');
      for (const row of left)
        expect(row).toMatchObject({ outcome: 'skipped', reason: "does not fit on the disk of mend's store" });
      const listed = await person.mend(['memory', 'list', '--json'], { env });
      expect(JSON.parse(listed.stdout)).toHaveLength(fitted);

      execFileSync('mount', ['-o', `remount,size=40m,${options}`, store]);
      const second = await importing();
      expect(second.code).toBe(0);
      expect(counted(second.rows, 'same')).toBe(fitted);
      expect(counted(second.rows, 'added')).toBe(FILES - fitted);
      expect(counted((await importing()).rows, 'same')).toBe(FILES);
    } finally {
      execFileSync('umount', ['--lazy', store]);
      await person.remove();
    }
  }, 120_000);
});
