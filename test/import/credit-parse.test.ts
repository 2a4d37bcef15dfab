import { describe, expect, test } from 'vitest';
import { parseManifest } from '../../src/import/credit/parse-manifest.js';
import { type ManifestJson, manifestJson, readingJson, worktreeJson } from './credit-manifest.js';

test('a manifest is read as it is', () => {
  const { organisation, people, worktrees } = parseManifest(`\ufeff${JSON.stringify(manifestJson())}`);
  expect(organisation).toEqual({ id: 'garden', members: ['ada', 'ben'] });
  expect([...people.values()]).toEqual([
    { id: 'ada', user: 'ada', store: undefined },
    { id: 'ben', user: null, store: undefined },
  ]);
  expect(worktrees).toMatchObject([
    {
      project: { remote: { value: 'example.org/garden/beds' } },
      readings: [{ home: { id: 'h1', person: 'ada' }, harness: { name: 'claude' }, time: 1769851800000 }],
    },
  ]);
});

/** Replaces the value at a JSON pointer. */
function changed(pointer: string, value: unknown): unknown {
  const json = manifestJson();
  const keys = pointer.split('/').slice(1);
  const last = keys.pop() ?? '';
  let at = json as unknown as Record<string, unknown>;
  for (const key of keys) at = at[key] as Record<string, unknown>;
  Object.defineProperty(at, last, { value, enumerable: true, configurable: true, writable: true });
  return json;
}

const reading = '/worktrees/0/readings/0';
const session = '/worktrees/0/sessions/list/0';
const wrong: readonly (readonly [pointer: string, value: unknown, sentence: string])[] = [
  ['/version', 2, '/version must be 1: correct it'],
  ['/version', undefined, '/version is missing: add it, it is 1'],
  ['/worktrees/0/strange~', 1, '/worktrees/0/strange~0 is not known'],
  ['/__proto__', {}, '/__proto__ is not known'],
  ['/people', {}, '/people must be a list'],
  ['/people/0', 'ada', '/people/0 must be an object with "id", "user", "store"'],
  ['/people/1/id', 'ada', '/people/1/id is the id of another one already'],
  ['/people/1/user', 'ada', '/people/1/user is the user of another one already'],
  ['/people/0/user', '-x', '/people/0/user must be the name or number of a Linux user'],
  ['/people/0/user', undefined, '/people/0/user must be the name or number of a Linux user'],
  ['/people/0/store', 'here', '/people/0/store must be an absolute path'],
  ['/organisation/members/0', 'eve', '/organisation/members/0 names nobody of /people'],
  ['/organisation/members/1', 'ada', '/organisation/members/1 is the id of another one already'],
  ['/worktrees/0/project', {}, '/worktrees/0/project names no project'],
  ['/worktrees/0/project/remote', '/srv/git', '/worktrees/0/project/remote is not the URL of a repository on a host'],
  ['/worktrees/0/homes/0/state', 'gone', '/worktrees/0/homes/0/state must be "settled" or "waiting"'],
  ['/worktrees/0/homes/0/person', undefined, '/worktrees/0/homes/0/person is missing'],
  ['/worktrees/0/sessions/deleted_kept', 'yes', '/worktrees/0/sessions/deleted_kept must be true or false'],
  [`${session}/owner`, 'eve', `${session}/owner names nobody of /people`],
  [`${session}/owner`, undefined, `${session}/owner is missing`],
  [`${reading}/workspace`, 's9', `${reading}/workspace is not one of the workspaces`],
  [`${reading}/home`, 'h9', `${reading}/home names no home`],
  [`${reading}/harness`, 'pi', `${reading}/harness cannot be "pi"`],
  [`${reading}/harness`, 'nosuch', `${reading}/harness cannot be "nosuch"`],
  [`${reading}/folder`, 'r1', `${reading}/folder must be an absolute path`],
  [`${reading}/folder`, '/srv/../etc', `${reading}/folder must be a path without ".."`],
  [`${reading}/time`, 'yesterday', `${reading}/time must be a time such as`],
  [`${reading}/time`, '2026-13-01T00:00:00Z', `${reading}/time must be a time such as`],
  [`${reading}/time`, '2026-02-30T00:00:00Z', `${reading}/time must be a time such as`],
  [`${reading}/id`, 'a\u001b[2J', `${reading}/id must be a name of 1 to 200 visible characters`],
  [`${reading}/id`, '', `${reading}/id must be a name of 1 to 200 visible characters`],
  ['/worktrees/1', worktreeJson(), '/worktrees/1/id is the id of a worktree of another one already'],
  ['/worktrees/0/readings/1', readingJson(), '/worktrees/0/readings/1/id is the id of a reading of another one'],
  [
    '/worktrees/0/readings/1',
    { ...readingJson(), id: 'r2' },
    '/worktrees/0/readings/1/folder is the folder of another one already',
  ],
  [
    '/worktrees/0/readings/1',
    { ...readingJson(), id: 'r2', folder: '/srv/readings/r2' },
    `${reading} says that it is the final one of its workspace, as "r2" does`,
  ],
];

describe('what is wrong is refused with one sentence that names its place', () => {
  test.each(wrong)('%s: %j', (pointer, value, sentence) => {
    expect(refusal(JSON.stringify(changed(pointer, value)))).toContain(sentence);
  });

  test('a deleted session in a record that keeps none', () => {
    const json: ManifestJson = manifestJson();
    for (const { sessions } of json.worktrees) {
      sessions.deleted_kept = false;
      for (const one of sessions.list) one.deleted = true;
    }
    expect(refusal(JSON.stringify(json))).toContain(`${session}/deleted is of a record that keeps no deleted sessions`);
  });

  test('a reading after the final one', () => {
    const json = manifestJson();
    const later = { ...readingJson(), id: 'r2', folder: '/srv/r2', time: '2026-02-01T00:00:00Z', final: false };
    for (const { readings } of json.worktrees) readings.push(later);
    expect(refusal(JSON.stringify(json))).toContain('/worktrees/0/readings/1 is later than "r1", the final one');
  });

  test('what is no JSON, too deep, or long', () => {
    expect(refusal('{"secret": "hunter2" oops}')).not.toContain('hunter2');
    expect(refusal('')).toContain('is not valid JSON');
    expect(refusal('[]')).toContain('the document must be an object with "version"');
    expect(refusal('['.repeat(1_000_000))).toContain('is not valid JSON');
    const deep = `{"version": 1, "people": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(refusal(deep)).toContain('/people/0 must be an object');
    expect(refusal(JSON.stringify({ ['x'.repeat(10_000_000)]: 1 })).length).toBeLessThan(500);
  });
});

function refusal(text: string): string {
  try {
    parseManifest(text);
  } catch (error) {
    const { name, message } = error as Error;
    expect([name, message.split('\n').length]).toEqual(['MendError', 1]);
    return message;
  }
  throw new Error('it was taken');
}
