import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DEFAULT_SETTINGS, readSettings, settingsFile } from '../../src/daemon/settings.js';
import { chosenByName } from '../../src/harness/registry.js';
import { DEFAULT_LIMITS } from '../../src/ports/limits.js';

let home: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'mend-settings-'));
  env = { HOME: home };
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(text: string): string {
  const file = settingsFile(env);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** The archive of a harness goes with it, and is not named. */
const harnessFault = new RegExp(`"harnesses" must be a list such as \\[claude\\], of ${chosenByName.join(', ')}$`);

test('without a file, and with an empty one, everything has its default', () => {
  const defaults = DEFAULT_SETTINGS;
  expect(defaults).toMatchObject({ limits: DEFAULT_LIMITS, harnesses: undefined, programs: {} });
  expect(readSettings(env)).toEqual(defaults);
  write('');
  expect(readSettings(env)).toEqual(defaults);
  write('# nothing yet\n');
  expect(readSettings(env)).toEqual(defaults);
});

test('what the file says is used, the rest keeps its default', () => {
  write('limits:\n  files: 10\n  file_bytes: 2048\nharnesses: [claude]\ncodex:\n  summary_bytes: 4096\n');
  expect(readSettings(env)).toEqual({
    ...DEFAULT_SETTINGS,
    limits: { files: 10, fileBytes: 2048, bytes: DEFAULT_LIMITS.bytes },
    harnesses: ['claude'],
    codex: { ...DEFAULT_SETTINGS.codex, summaryBytes: 4096 },
  });
});

test('XDG_CONFIG_HOME is respected when it is absolute', () => {
  expect(settingsFile({ HOME: home, XDG_CONFIG_HOME: '/elsewhere' })).toBe('/elsewhere/mend/config.yaml');
  expect(settingsFile({ HOME: home, XDG_CONFIG_HOME: 'relative' })).toBe(join(home, '.config/mend/config.yaml'));
});

test.each([
  ['limit: {}\n', /there is no setting "limit"; there are harnesses, programs, limits, codex$/],
  [
    'limits:\n  file: 3\n',
    /there is no setting "limits\.file"; there are limits\.files, limits\.bytes, limits\.file_bytes$/,
  ],
  ['limits:\n  constructor: 3\n', /there is no setting "limits\.constructor"/],
  ['limits: 3\n', /"limits" must hold keys and values$/],
  ['limits:\n  files: 0\n', /"limits\.files" must be a whole number from 1 to 100000$/],
  ['limits:\n  bytes: 1.5\n', /"limits\.bytes" must be a whole number/],
  ['limits:\n  bytes: many\n', /"limits\.bytes" must be a whole number/],
  ['harnesses: claude\n', harnessFault],
  ['harnesses: []\n', /"harnesses" must be a list such as/],
  ['harnesses: [vim]\n', harnessFault],
  ['codex:\n  summary_bytes: 0\n', /"codex\.summary_bytes" must be a whole number from 1 to 268435456$/],
  ['- a\n', /must hold keys and values/],
  ['limits:\n  files: 1\n  files: 2\n', /is not valid YAML \(line 3\)/],
  ['a: [1\n', /is not valid YAML/],
])('%j is refused by name', (text, message) => {
  const file = write(text);
  expect(() => readSettings(env)).toThrow(message);
  expect(() => readSettings(env)).toThrow(file);
});

test('a file that cannot be read is refused', () => {
  mkdirSync(settingsFile(env), { recursive: true });
  expect(() => readSettings(env)).toThrow(/cannot be read \(EISDIR\): make it readable or move it away$/);
});
