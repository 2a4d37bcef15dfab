import { afterEach, expect, test } from 'vitest';
import { programFolder, programPath } from './program.js';
import { currentUser, isRoot, type TestUser, throwAwayUser } from './users.js';

let user: TestUser;

afterEach(async () => {
  await user.remove();
});

test('the built program can be read and run by every user', async () => {
  user = isRoot ? throwAwayUser() : currentUser();
  const result = await user.run([process.execPath, programPath(), '--version']);
  expect(result).toMatchObject({ code: 0, stderr: '' });
  const loads = "require('better-sqlite3')(':memory:').close(); require('./native/build/Release/mend.node')";
  expect(await user.run([process.execPath, '-e', loads], { cwd: programFolder() })).toMatchObject({ code: 0 });
});
