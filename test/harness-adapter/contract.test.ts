import { basename, dirname, isAbsolute } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MendError } from '../../src/errors.js';
import type { HarnessEnvironment } from '../../src/harness/adapter.js';
import {
  chosenByName,
  findHarness,
  harnesses,
  harnessOfProgram,
  memoryHarness,
  memoryHarnesses,
  withArchive,
} from '../../src/harness/registry.js';

/** Executables that are each harness. A harness without a line here fails its contract. */
const PROGRAMS: Record<string, readonly string[]> = {
  claude: [
    '/home/u/.local/share/claude/versions/2.1.332',
    '/home/u/.local/share/claude/versions/2.1.332 (deleted)',
    '/home/u/.local/share/claude/versions/3.0.0-beta.1',
    '/usr/lib/node_modules/@anthropic-ai/claude-code-linux-x64/claude',
    '/usr/lib/node_modules/@anthropic-ai/claude-code/bin/claude.exe',
    '/opt/claude (deleted)',
  ],
  codex: [
    '/usr/lib/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex',
    '/home/u/.codex/packages/app-server-daemon/releases/0.171.0-x86_64-unknown-linux-musl/bin/codex (deleted)',
    '/usr/local/bin/codex-aarch64-unknown-linux-gnu',
  ],
  opencode: ['/usr/local/bin/opencode'],
  pi: ['/usr/local/bin/pi'],
  // Any agent may follow the convention.
  'project-memory': [],
  'project-memory-archive': [],
};

const NO_HARNESS = [
  '',
  '/usr/bin/node',
  '/usr/bin/bash',
  '/usr/bin/vim.basic',
  '/home/u/claude/versions/notes',
  '/home/u/claude/versions/2.1.332/bin/rg',
  '/home/claude/bin/claude-helper',
  '/usr/bin/pip',
  '/usr/lib/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex-code-mode-host',
  '/home/u/codex/bin/rg',
];

const ENV = { HOME: '/home/u', PATH: '/usr/bin' };

it('names are unique, lower-case words', () => {
  const names = harnesses.map((harness) => harness.name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z][a-z-]*$/);
});

describe.each(harnesses.map((harness) => [harness.name, harness] as const))('%s', (name, harness) => {
  it('is found by its name', () => {
    expect(findHarness(name)).toBe(harness);
    expect(harness.title).not.toBe('');
  });

  it('knows its own programs', () => {
    expect(PROGRAMS[name]).toBeDefined();
    for (const executable of PROGRAMS[name] ?? []) expect(harnessOfProgram(executable), executable).toBe(harness);
  });

  it.each(NO_HARNESS)('does not take %j for itself', (executable) => {
    expect(harness.matchesProgram(executable)).toBe(false);
  });

  if (!harness.keepsMemory) {
    it('says in one sentence that it keeps no memory', () => {
      expect(harness.reason).toMatch(/keeps no memory folder, so [^.]+$/);
      expect(() => memoryHarness(name)).toThrow(harness.reason);
    });
    return;
  }

  it('is offered where memory is asked for', () => {
    expect(memoryHarness(name)).toBe(harness);
    expect(memoryHarnesses).toContain(harness);
  });

  const folderOf = (root: string, env: HarnessEnvironment): string => {
    const home = harness.homePerProject ? `${env['HOME']}/homes${root}` : undefined;
    const folder = harness.memoryFolder({ root, env, home });
    if (folder === undefined) throw new Error('It has no folder.');
    return folder;
  };

  it('has an absolute memory folder, decided by root and environment alone', () => {
    const folder = folderOf('/srv/app', ENV);
    expect(isAbsolute(folder)).toBe(true);
    expect(folder).not.toMatch(/\/$|\/\/|\/\.\.?(\/|$)/);
    expect(folderOf('/srv/app', { ...ENV })).toBe(folder);
    expect(folderOf('/srv/other', ENV)).not.toBe(folder);
    expect(folderOf('/srv/app', { ...ENV, HOME: '/home/v' })).not.toBe(folder);
  });

  it('refuses an environment without a home in words', () => {
    for (const HOME of [undefined, '', 'relative']) {
      expect(() => folderOf('/srv/app', { ...ENV, HOME })).toThrow(MendError);
    }
  });

  it('tells what is local from memory', () => {
    for (const path of ['', 'MEMORY.md', 'sub/deep.md', 'notes.bak']) expect(harness.isLocal(path), path).toBe(false);
    for (const path of ['.DS_Store', 'MEMORY.md~', '.MEMORY.md.swp', 'a/x.lock', 'a.md.tmp.1.ab', '.Trash-0/a.md']) {
      expect(harness.isLocal(path), path).toBe(true);
    }
  });

  it('says of a sign of use where it is, under the home', () => {
    const sign = harness.signOfUse?.(ENV);
    if (harness.signOfUse) expect(sign).toMatch(/^\/home\/u\/./);
    // The first harness is there for everybody.
    else expect(name).toBe(harnesses[0]?.name);
  });

  it('has an archive that is registered with it, and has none itself', () => {
    const { archive } = harness;
    if (!archive) return;
    expect(findHarness(archive.name)).toBe(archive);
    expect(withArchive(harness)).toEqual([harness, archive]);
    expect(archive.archive).toBeUndefined();
    expect(chosenByName).not.toContain(archive.name);
    expect(folderOf('/srv/app', ENV)).not.toBe(archive.memoryFolder({ root: '/srv/app', env: ENV, home: undefined }));
  });

  it('finds its folder under every name that it may have', () => {
    const place = { root: '/srv/app', env: ENV, home: undefined };
    const names = harness.folderNames?.(place);
    if (!names) return;
    const folder = folderOf('/srv/app', ENV);
    expect(names.within).toContain(dirname(folder));
    expect(basename(folder)).toMatch(names.pattern);
    expect(basename(folderOf('/srv/other', ENV))).not.toMatch(names.pattern);
  });

  it('names the keys it maintains as dotted paths, each once', () => {
    for (const key of harness.maintainedKeys) expect(key).toMatch(/^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*$/);
    expect(new Set(harness.maintainedKeys).size).toBe(harness.maintainedKeys.length);
  });
});

it('refuses an unknown harness by naming the known ones', () => {
  expect(() => memoryHarness('cladue')).toThrow(/no harness "cladue": use one of claude/);
  expect(findHarness('cladue')).toBeUndefined();
  expect(findHarness('toString')).toBeUndefined();
});
