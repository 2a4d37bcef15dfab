import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { memoryHarnesses } from '../../src/harness/registry.js';
import { expectRefusal, Person } from '../cli/person.js';

/** A file of memory of each harness, as it is written for a checkout. A harness without a line here fails its contract. */
const FILES: Record<string, { readonly name: string; readonly text: (checkout: string) => string }> = {
  claude: { name: 'MEMORY.md', text: () => '- one\n' },
  codex: { name: 'MEMORY.md', text: () => '- one\n' },
  'project-memory': { name: 'memory.md', text: (checkout) => `Project: ${checkout}\n\n- one\n` },
  'project-memory-archive': {
    name: 'memory-20260101T000000Z.md',
    text: (checkout) => `Project: ${checkout}\n\n- one\n`,
  },
};

const ODD = 'my repo (ä) #2';

interface Mounts {
  mounts: { path: string; harness: string; files: number }[];
}

describe.each(memoryHarnesses.map((harness) => [harness.name, harness] as const))(
  '%s',
  { timeout: 300_000 },
  (name, harness) => {
    let person: Person;
    beforeEach(async () => {
      person = await Person.make(ODD);
      await person.shell('git -C "$HOME/$R" remote add origin https://example.org/a/odd.git'.replace('$R', ODD));
    });
    afterEach(() => person.remove());

    const file = (): { name: string; text: (checkout: string) => string } => {
      const known = FILES[name];
      if (!known) throw new Error(`There is no file of ${name} in this test.`);
      return known;
    };
    const shown = (): string => (name === 'claude' ? file().name : `${name}:${file().name}`);
    const mount = async (cwd = person.repository, home = person.user.home): Promise<string> => {
      const env = { HOME: home, MEND_STORE_DIR: person.store };
      const result = await person.mend(['mount', '--harness', name], { cwd, env });
      expect(result).toMatchObject({ code: 0, stderr: '' });
      const { mounts } = await person.json<Mounts>('status');
      // A harness brings its archive along.
      const paths = mounts.filter((one) => one.harness === name).map(({ path }) => path);
      const [said] = result.stdout.split('\n').flatMap((line) => paths.find((path) => line.endsWith(` ${path}`)) ?? []);
      expect(said).toBeDefined();
      return said ?? '';
    };
    const sh = async (folder: string, script: string): Promise<string> => {
      const env = { F: folder, N: file().name };
      const result = await person.user.run(['sh', '-euc', script], { env });
      expect(result, script).toMatchObject({ code: 0, stderr: '' });
      return result.stdout;
    };
    const lay = async (folder: string): Promise<void> => {
      const text = file().text(person.repository);
      const input = { env: { F: folder, N: file().name, T: text } };
      const result = await person.user.run(['sh', '-euc', 'umask 077; mkdir -p "$F"; printf %s "$T" > "$F/$N"'], input);
      expect(result).toMatchObject({ code: 0, stderr: '' });
    };

    test('saves on the mount are versions, and go back to the plain folder', async () => {
      const folder = await mount();
      await lay(folder);
      await sh(folder, 'echo "- two" >> "$F/$N"');
      expect(await person.done('memory', 'show', shown())).toBe(`${file().text(person.repository)}- two\n`);
      expect(await person.done('memory', 'show', shown(), '--version', '1')).toBe(file().text(person.repository));
      expect(await person.json('memory')).toMatchObject([{ harness: name, file: file().name, versions: 2 }]);
      await person.rest();
      const stat = await sh(folder, 'stat -c "%a %n" "$F" "$F/$N"');
      expect(stat).toBe(`700 ${folder}\n600 ${folder}/${file().name}\n`);
      // What the harness writes without mend is taken in, and merged where memory has changed.
      await sh(folder, 'echo "- plain" >> "$F/$N"');
      expect(await mount()).toBe(folder);
      expect(await sh(folder, 'tail -n 2 "$F/$N"')).toBe('- two\n- plain\n');
      await person.rest();
    });

    test('what the adapter calls local works, is no memory, and stays on the mount', async () => {
      const folder = await mount();
      await sh(folder, 'echo x > "$F/a.lock"; echo y > "$F/.$N.swp"; echo z > "$F/plain.md"; ls -A "$F"');
      for (const local of ['a.lock', `.${file().name}.swp`]) expect(harness.isLocal(local)).toBe(true);
      expect(await person.json('memory')).toMatchObject([{ harness: name, file: 'plain.md' }]);
      await person.rest();
      expect(await sh(folder, 'ls -A "$F"')).toBe('plain.md\n');
    });

    test('a second checkout and a second home have the same memory', async () => {
      const folder = await mount();
      await lay(folder);
      const second = join(person.user.home, 'second');
      await person.shell(`git init -q '${second}'; git -C '${second}' remote add origin git@example.org:a/odd.git`);
      const there = await mount(second);
      expect(await sh(there, 'tail -n 1 "$F/$N"')).toBe('- one\n');
      await sh(there, 'echo "- there" >> "$F/$N"');
      expect(await sh(folder, 'tail -n 1 "$F/$N"')).toBe('- there\n');
      const other = join(person.user.home, 'other-home');
      await person.shell(`mkdir -m 700 '${other}'`);
      const elsewhere = await mount(second, other);
      expect(elsewhere === there || elsewhere.startsWith(other)).toBe(true);
      expect(await sh(elsewhere, 'tail -n 1 "$F/$N"')).toBe('- there\n');
      await person.rest();
      expect(await sh(elsewhere, 'tail -n 1 "$F/$N"')).toBe('- there\n');
    });

    // Codex's own home, which mixes projects, has tests of its own.
    if (!harness.homePerProject)
      test('an import reads the plain folder, and a copy from another machine', async () => {
        const folder = await mount();
        await person.rest();
        await lay(folder);
        expect(await person.done('memory', 'import', '--harness', name)).toMatch(/^added {6}/);
        await sh(folder, 'echo "- more" >> "$F/$N"');
        expect(await person.done('memory', 'import', '--harness', name, '--dry-run')).toMatch(/^updated {4}/);
        expect(await person.done('memory', 'show', shown())).toBe(file().text(person.repository));
        expect(await person.done('memory', 'import', '--harness', name)).toMatch(/^updated {4}/);
        const copy = join(person.user.home, 'copy');
        await sh(folder, `cp -r "$F" '${copy}'; echo "- laptop" >> '${copy}'/"$N"`);
        const args = ['memory', 'import', '--harness', name, '--from', copy, '--machine', 'laptop'];
        expect(await person.done(...args)).toMatch(/^merged {5}|^updated {4}/);
        expect(await person.done('memory', 'show', shown())).toMatch(/- more\n- laptop\n$/);
        expect(await person.done(...args)).not.toMatch(/^(?:merged|updated|added)/);
      });

    test('without a home it is refused in words, and nothing is made', async () => {
      const before = person.snapshot();
      const env = { HOME: 'relative', XDG_DATA_HOME: join(person.user.home, '.local/share') };
      const result = await person.mend(['mount', '--harness', name], { env });
      expectRefusal(result, 1, /HOME/);
      expect(person.snapshot()).toEqual(before);
    });
  },
);
