import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { codexEnv, otherRepository, shellOf, sqlOf } from './codex-person.js';
import { Person } from './person.js';

const TIMEOUT_MS = 240_000;

let person: Person;

beforeEach(async () => {
  person = await Person.make();
  await shellOf(person, 'mkdir -p "$1/.codex"', person.user.home);
});

afterEach(async () => {
  await person.mend(['unmount', '--all', '--force']);
  await person.user.remove();
});

const shell = (script: string, ...args: string[]): Promise<string> => shellOf(person, script, ...args);

it(
  'a project of a new store does not get the home of one of the old store',
  async () => {
    const before = await codexEnv(person);
    await shell('echo beans >"$1/MEMORY.md"', before.memory);
    await person.rest();
    await shell('rm -r "$1"/store.db* "$1/run"', person.store);
    const other = await codexEnv(person, { cwd: await otherRepository(person, 'kitchen') });
    expect(await shell('ls -A "$1"', other.memory)).toBe('');
    expect(await person.json('memory', '--project', 'kitchen')).toEqual([]);
    // The old one stays as it was.
    expect(await shell('cat "$1/MEMORY.md"', before.memory)).toBe('beans\n');
    const again = await codexEnv(person);
    expect([before.memory, other.memory]).not.toContain(again.memory);
  },
  TIMEOUT_MS,
);

it(
  'after a restore a project has its own home as before, and a new one none of a project that is gone',
  async () => {
    const garden = await codexEnv(person);
    const backup = join(person.user.home, 'backup.db');
    await person.done('store', 'backup', backup);
    await shell('echo peas >"$1/MEMORY.md"', garden.memory);
    const kitchen = await codexEnv(person, { cwd: await otherRepository(person, 'kitchen') });
    await shell('echo beans >"$1/MEMORY.md"', kitchen.memory);
    await person.rest();
    await person.done('store', 'restore', backup);
    const attic = await codexEnv(person, { cwd: await otherRepository(person, 'attic') });
    expect(await shell('ls -A "$1"', attic.memory)).toBe('');
    expect(await codexEnv(person)).toEqual(garden);
    expect(await shell('cat "$1/MEMORY.md"', garden.memory)).toBe('peas\n');
    expect(await shell('cat "$1/MEMORY.md"', kitchen.memory)).toBe('beans\n');
  },
  TIMEOUT_MS,
);

it(
  'there is one home however the folder of the store is written',
  async () => {
    const { home } = person.user;
    const store = join(home, 'elsewhere/store');
    await shell('mkdir "$1/elsewhere" && ln -s elsewhere "$1/link"', home);
    const plain = await codexEnv(person, { store });
    expect(await codexEnv(person, { store: `${store}/` })).toEqual(plain);
    expect(await codexEnv(person, { store: join(home, 'link/store') })).toEqual(plain);
    expect(await codexEnv(person, { store: `${home}/link/../elsewhere//store` })).toEqual(plain);
    await person.mend(['unmount', '--all'], { env: { MEND_STORE_DIR: store } });
    // A store in another place has another home, also for the same project.
    expect((await codexEnv(person)).memory).not.toBe(plain.memory);
  },
  TIMEOUT_MS,
);

it(
  'a home that was made before homes knew their project is gone on with, by its own project only',
  async () => {
    const { memory } = await codexEnv(person);
    await shell('echo beans >"$1/MEMORY.md"', memory);
    await person.rest();
    const home = dirname(memory);
    const earlier = join(dirname(home), '1');
    // As an earlier mend named and noted it.
    await shell('mv "$1" "$2" && mkdir "$3/2" && cp -r "$2/." "$3/2"', home, earlier, dirname(home));
    await sqlOf(
      person,
      join(person.store, 'store.db'),
      `UPDATE mount SET path = replace(path, '${home}', '${earlier}')`,
    );
    expect((await codexEnv(person)).memory).toBe(memory.replace(home, earlier));
    const other = await codexEnv(person, { cwd: await otherRepository(person, 'kitchen') });
    expect(await shell('ls -A "$1"', other.memory)).toBe('');
  },
  TIMEOUT_MS,
);
