import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { loadScanner, programWithoutRules, scannerModule } from './secret-program.js';
import { SAMPLES, slowText } from './secret-samples.js';

type Module = typeof import('../../src/import/secrets.js');
type Scanner = InstanceType<Module['SecretScanner']>;

const MEGABYTE = 1024 * 1024;
const TOKEN = SAMPLES.find(({ rule }) => rule === 'github')?.text ?? '';
const scanners: Scanner[] = [];
let secrets: Module;

function scanner(options: { limit?: number } = {}): Scanner {
  const made = new secrets.SecretScanner(options);
  scanners.push(made);
  return made;
}

/** Runs a process that has to end by itself. */
function run(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const options = { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 30_000 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
  return { status, stdout, stderr };
}

const runScript = (script: string, env?: NodeJS.ProcessEnv) => run(['--input-type=module', '-e', script], env);

beforeAll(async () => {
  secrets = await loadScanner();
});

afterEach(async () => {
  for (const made of scanners.splice(0)) await made.close();
});

test('every kind is found, and neither it nor any part of it is in what comes back', async () => {
  const made = scanner();
  for (const { rule, text, value = text } of SAMPLES) {
    const findings = await made.scan('note.md', Buffer.from(`Words.\n${text}\n`));
    expect(findings).toContainEqual({ rule, line: 2 });
    for (const finding of findings) expect(Object.keys(finding).sort()).toEqual(['line', 'rule']);
    for (const line of value.split('\n')) expect(JSON.stringify(findings)).not.toContain(line.trim() || value);
  }
});

test('many files at once, each with its own answer, and their bytes as they were', async () => {
  const made = scanner();
  const texts = Array.from({ length: 300 }, (_, i) => Buffer.from(`${'\n'.repeat(i)}${i % 3 === 0 ? TOKEN : 'clean'}`));
  const before = texts.map((bytes) => bytes.toString());
  const answers = await Promise.all(texts.map((bytes) => made.scan('note.md', bytes)));
  answers.forEach((answer, i) => {
    expect(answer).toEqual(i % 3 === 0 ? [{ rule: 'github', line: i + 1 }] : []);
  });
  expect(texts.map((bytes) => bytes.toString())).toEqual(before);
});

test('in the middle of a megabyte, and at its end', async () => {
  const half = 'A line of a long note, as they are.\n'.repeat(MEGABYTE / 2 / 36);
  const lines = half.split('\n').length - 1;
  const note = `${half}${TOKEN}\n${half}${TOKEN}`;
  expect(await scanner().scan('note.md', Buffer.from(note))).toEqual([
    { rule: 'github', line: lines + 1 },
    { rule: 'github', line: 2 * lines + 2 },
  ]);
});

test('a file that takes too long counts as not scanned, and the next is scanned', async () => {
  const slow = Buffer.from(slowText(16 * MEGABYTE));
  const made = scanner({ limit: 200 });
  const [before, late, after] = await Promise.all([
    made.scan('before.md', Buffer.from(TOKEN)),
    made.scan('slow.md', slow),
    made.scan('after.md', Buffer.from(TOKEN)),
  ]);
  expect(late).toEqual([{ rule: secrets.NOT_SCANNED, line: 1 }]);
  expect([before, after]).toEqual([[{ rule: 'github', line: 1 }], [{ rule: 'github', line: 1 }]]);
});

test('closing ends the thread and rejects what is under way; it may be closed twice', async () => {
  const made = scanner();
  await made.scan('note.md', Buffer.from('clean'));
  const under = [made.scan('a.md', Buffer.alloc(MEGABYTE)), made.scan('b.md', Buffer.alloc(MEGABYTE))];
  const outcomes = Promise.allSettled(under);
  await made.close();
  await made.close();
  for (const outcome of await outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'MendError', message: expect.any(String) } });
});

describe('a process', () => {
  const sample = Buffer.from(`Words.\n${TOKEN}\n`).toString('base64');
  const scan = (folder?: string): string => `
    const { SecretScanner } = await import(${JSON.stringify(scannerModule(folder))});
    const scanner = new SecretScanner();
    const findings = await scanner.scan('note.md', Buffer.from('${sample}', 'base64'));
    console.log(JSON.stringify(findings));`;

  test('waits for a scan, and ends by itself without closing the scanner', () => {
    const { status, stdout, stderr } = runScript(scan());
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual([{ rule: 'github', line: 2 }]);
  });

  test('has no thread before the first scan and after closing', () => {
    const script = `
      import { promises, readdirSync } from 'node:fs';
      await import(${JSON.stringify(scannerModule())});
      // Threads that Node.js starts once, with the first work for them.
      await Promise.all(Array.from({ length: 16 }, () => promises.readdir('/')));
      const counts = [];
      const count = () => counts.push(readdirSync('/proc/self/task').length);
      count();
      ${scan()}
      count();
      await scanner.close();
      count();
      console.log(JSON.stringify(counts));`;
    const { status, stdout } = runScript(script);
    expect(status).toBe(0);
    const [before = 0, during, after] = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as number[];
    expect(during).toBe(before + 1);
    expect(after).toBe(before);
  });

  test('says nothing of what it reads, however much its parts are asked to say', () => {
    const { status, stdout, stderr } = runScript(scan(), {
      DEBUG: '*',
      MEND_LOG: 'debug',
      NODE_OPTIONS: '--trace-warnings',
    });
    expect(status).toBe(0);
    expect(stdout + stderr).not.toContain(TOKEN);
  });

  describe('without the package with the rules', () => {
    let folder: string;

    beforeAll(() => {
      folder = programWithoutRules();
    });

    test('does not need it as long as nothing is scanned', () => {
      const { status, stderr } = runScript(`await import(${JSON.stringify(scannerModule(folder))})`);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      const main = run([join(folder, 'dist/main.js'), '--version']);
      expect(main.status).toBe(0);
    });

    test('is told that the scanner does not start, and nothing of the text', () => {
      const script = `try { ${scan(folder)} } catch (error) { console.log(error.name, error.message, error.cause); }`;
      const { status, stdout, stderr } = runScript(script);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(
        /^MendError the scanner for secrets does not start \(ERR_MODULE_NOT_FOUND\): install mend again undefined/,
      );
      expect(stdout).not.toContain(TOKEN);
    });
  });
});
