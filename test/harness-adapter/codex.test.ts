import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HarnessPlace } from '../../src/harness/adapter.js';
import { codex } from '../../src/harness/codex.js';

let folder: string;
let place: HarnessPlace & { readonly home: string };
let users: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mend-codex-'));
  users = join(folder, 'u/.codex');
  mkdirSync(users, { recursive: true });
  place = { root: '/srv/app', env: { HOME: join(folder, 'u') }, home: join(folder, 'homes/1') };
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function lay(path: string, text: string): void {
  writeFileSync(path, text);
}

/** Names in the project's home but for the mark. */
function names(): string[] {
  return readdirSync(place.home)
    .filter((name) => name !== '.mend-home.json')
    .sort();
}

function prepare(env = place.env): void {
  codex.launch.prepare?.({ ...place, env });
}

describe('the home of a project', () => {
  it('is the owner’s alone, and has links to the login and to the settings that are there', () => {
    lay(join(users, 'config.toml'), '');
    lay(join(users, 'work.config.toml'), '');
    mkdirSync(join(users, 'prompts'));
    lay(join(users, 'history.jsonl'), 'what was said');
    prepare();
    prepare();
    expect(statSync(place.home).mode & 0o777).toBe(0o700);
    expect(names()).toEqual(['.credentials.json', 'auth.json', 'config.toml', 'prompts', 'work.config.toml']);
    for (const name of names()) expect(readlinkSync(join(place.home, name))).toBe(join(users, name));
  });

  it('takes a login that was put in the place of the link to the user, if it is the newer one', () => {
    prepare();
    rmSync(join(place.home, 'auth.json'));
    lay(join(place.home, 'auth.json'), 'first');
    prepare();
    expect(readFileSync(join(users, 'auth.json'), 'utf8')).toBe('first');
    expect(lstatSync(join(place.home, 'auth.json')).isSymbolicLink()).toBe(true);

    rmSync(join(place.home, 'auth.json'));
    lay(join(place.home, 'auth.json'), 'stale');
    utimesSync(join(place.home, 'auth.json'), 1, 1);
    prepare();
    expect(readFileSync(join(users, 'auth.json'), 'utf8')).toBe('first');
    expect(lstatSync(join(place.home, 'auth.json')).isSymbolicLink()).toBe(true);
  });

  it('keeps settings of its own', () => {
    lay(join(users, 'config.toml'), 'model = "a"\n');
    mkdirSync(place.home, { recursive: true });
    lay(join(place.home, 'config.toml'), 'model = "b"\n');
    prepare();
    expect(readFileSync(join(place.home, 'config.toml'), 'utf8')).toBe('model = "b"\n');
    expect(readFileSync(join(users, 'config.toml'), 'utf8')).toBe('model = "a"\n');
  });

  it('follows the user to another home, and is not linked to itself from within', () => {
    prepare();
    const inside = { ...place.env, CODEX_HOME: place.home };
    prepare(inside);
    expect(readlinkSync(join(place.home, 'auth.json'))).toBe(join(users, 'auth.json'));
    const other = join(folder, 'other');
    prepare({ ...place.env, CODEX_HOME: other });
    expect(readlinkSync(join(place.home, 'auth.json'))).toBe(join(other, 'auth.json'));
  });

  it('leaves a login that was made there to the user home that it was shared with', () => {
    prepare();
    const own = join(place.home, 'auth.json');
    rmSync(own);
    lay(own, 'one');
    const other = join(folder, 'other');
    mkdirSync(other);
    lay(join(other, 'auth.json'), 'two');
    prepare({ ...place.env, CODEX_HOME: other });
    expect(readFileSync(join(users, 'auth.json'), 'utf8')).toBe('one');
    expect(readFileSync(join(other, 'auth.json'), 'utf8')).toBe('two');
    expect(readFileSync(own, 'utf8')).toBe('two');
  });
});

describe('the version of the memory', () => {
  const root = (): string | undefined => codex.memoryFolder(place)?.slice(place.home.length + 1);
  it.each([
    ['memories_v2', ''],
    ['memories', '[memories]\nversion = "v1"\n'],
    ['memories', 'memories.version = "v1"\n'],
    ['memories', 'memories = { version = "v1" }\n'],
    ['memories_v2', '[memories]\nversion = "v3"\n'],
    ['memories_v2', 'memories = 1\n'],
    ['memories_v2', 'not toml ['],
  ])('is that of %s for the settings %j', (expected, settings) => {
    lay(join(users, 'config.toml'), settings);
    prepare();
    expect(root()).toBe(expected);
  });

  it('is 1 for a user who has a memory of it, unless the settings say another', () => {
    mkdirSync(join(users, 'memories'));
    expect(root()).toBe('memories');
    lay(join(users, 'config.toml'), '[memories]\nversion = "v2"\n');
    expect(root()).toBe('memories_v2');
  });

  it('changes with the settings of the home, and what is there of the other goes out of sight', () => {
    prepare();
    mkdirSync(join(place.home, 'memories_v2'));
    lay(join(place.home, 'memories_v2/MEMORY.md'), 'notes');
    expect(root()).toBe('memories_v2');
    lay(join(place.home, 'config.toml'), '[memories]\nversion = "v1"\n');
    expect(root()).toBe('memories_v2');
    prepare();
    expect(root()).toBe('memories');
    expect(existsSync(join(place.home, 'memories_v2'))).toBe(false);
    const [aside = ''] = readdirSync(join(place.home, 'other-memories'));
    expect(readFileSync(join(place.home, 'other-memories', aside, 'MEMORY.md'), 'utf8')).toBe('notes');
  });
});

describe('a run', () => {
  it('gets the home, and the memory feature by arguments before those given', () => {
    prepare();
    expect(codex.launch.environment?.(place)).toEqual({ CODEX_HOME: place.home, CODEX_SQLITE_HOME: place.home });
    const args = codex.launch.args?.(place, ['resume', '--last']) ?? [];
    expect(args.slice(-2)).toEqual(['resume', '--last']);
    expect(args.filter((arg) => arg !== '-c').slice(0, -2)).toEqual([
      'features.memories=true',
      'memories.version="v2"',
      `sqlite_home="${place.home}"`,
      'features.daemon_auto_start=false',
    ]);
  });
});

it('tells what Codex keeps for itself in the folder', () => {
  const local = [
    '.git/HEAD',
    '.codex-baseline/.git',
    'phase2_workspace_diff.md',
    '.agents',
    '.codex/x',
    '.aws',
    'a-shm',
  ];
  for (const path of local) expect(codex.isLocal(path), path).toBe(true);
  const memory = [
    'skills/a/SKILL.md',
    'rollout_summaries/2026-11-28T20-09-15-Sy9B-slug.md',
    'extensions/ad_hoc/notes/x.md',
  ];
  for (const path of [...memory, 'a/phase2_workspace_diff.md', 'raw_memories.md'])
    expect(codex.isLocal(path), path).toBe(false);
});

it('finds the summaries in a copy of a home, or of a user’s home', () => {
  const none = (): boolean => false;
  expect(codex.memoryInCopy('/srv/app', none, ['memories_v2_1.sqlite', 'auth.json'])).toBe('.');
  expect(codex.memoryInCopy('/srv/app', (path) => path === '.codex', ['.codex', '.bashrc'])).toBe('.codex');
  expect(codex.memoryInCopy('/srv/app', none, ['MEMORY.md'])).toBeUndefined();
});
