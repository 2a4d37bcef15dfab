import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { programFolder } from '../support/program.js';

const script = (): string => {
  const url = pathToFileURL(join(programFolder(), 'dist/log.js')).href;
  return `const { log } = await import(${JSON.stringify(url)});
    log('error', 'a line', { number: 1 });
    log('debug', 'not wanted');
    await new Promise((resolve) => setTimeout(resolve, 50));
    console.log('goes on');`;
};

test('a line has time, level, message and details', () => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script()], { encoding: 'utf8' });
  expect(stdout).toBe('goes on\n');
  expect(stderr).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z error a line number=1\n$/);
});

test.runIf(existsSync('/dev/full'))('a line that cannot be written ends nobody', () => {
  const command = '"$0" --input-type=module -e "$1" 2>/dev/full';
  expect(execFileSync('sh', ['-c', command, process.execPath, script()], { encoding: 'utf8' })).toBe('goes on\n');
});
