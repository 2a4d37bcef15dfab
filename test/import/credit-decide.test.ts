import { expect, test } from 'vitest';
import { decide } from '../../src/import/credit/decide.js';
import { parseManifest } from '../../src/import/credit/parse-manifest.js';
import { manifestJson } from './credit-manifest.js';

/**
 * Every case of spec §10.3. home: person, state, workspace (the reading is of s1). sessions: the owners, "?" for one that
 * nobody knows, "!" after one whose session was deleted; deleted: whether the record keeps deleted sessions.
 */
const table = `
| home              | sessions   | deleted | members | credited | because         |
| ada settled s1    | ada        | kept    | ada ben | ada      | the home record |
| ada settled s1    | ben        | kept    | ben     | ada      | the home record |
| ada settled s1    | ada ben ?  | unknown | ada ben | ada      | the home record |
| ada settled s1    |            | unknown |         | ada      | the home record |
| ada waiting s1    | ben        | kept    | ada ben | ben      | every session   |
| ada settled other | ben        | kept    | ada ben | ben      | every session   |
| - settled s1      | ben        | kept    | ada ben | ben      | every session   |
| -                 | ben ben    | kept    | ada ben | ben      | every session   |
| -                 | ben ada    | kept    | ada ben | -        | no evidence     |
| -                 | ben ben!   | kept    | ada ben | ben      | every session   |
| -                 | ben!       | kept    | ada ben | ben      | every session   |
| -                 | ben ada!   | kept    | ben     | -        | no evidence     |
| -                 | ben ?!     | kept    | ben     | -        | no evidence     |
| ada waiting s1    | ben ada    | kept    | ada ben | -        | no evidence     |
| ada settled other | ben ada    | kept    | ada     | -        | no evidence     |
| -                 | ben ?      | kept    | ben     | -        | no evidence     |
| -                 | ? ?        | kept    | ben     | -        | no evidence     |
| -                 |            | kept    | ben     | -        | no evidence     |
| -                 | ben        | unknown | ada ben | -        | no evidence     |
| -                 | ben        | unknown |         | -        | no evidence     |
| -                 | ben        | unknown | ada     | -        | no evidence     |
| -                 | ben ada    | unknown | ben     | -        | no evidence     |
| -                 | ben ?      | unknown | ben     | -        | no evidence     |
| -                 |            | unknown | ben     | -        | no evidence     |
| -                 | ben        | unknown | ben     | ben      | the only member |
| ada waiting s1    | ben ben    | unknown | ben     | ben      | the only member |
| ada settled other | ben        | unknown | ben     | ben      | the only member |
| ada waiting s1    | ada        | unknown | ada ben | -        | no evidence     |
`;

const rows = table.split('\n').flatMap((line) => {
  const cells = line.split('|').map((cell) => cell.trim());
  return cells.length === 8 && cells[1] !== 'home' ? [cells.slice(1, -1)] : [];
});

test.each(rows)(
  'home "%s", sessions "%s", deleted ones %s, members "%s": %s',
  (home, sessions, deleted, members, credited, because) => {
    const json = manifestJson();
    json.organisation.members = words(members);
    const [worktree] = json.worktrees;
    const [reading] = worktree?.readings ?? [];
    if (!worktree || !reading) throw new Error('the manifest is empty');
    const [person = '-', state, workspace] = words(home);
    if (state === undefined || workspace === undefined) reading.home = null;
    else worktree.homes = [{ id: 'h1', person: person === '-' ? null : person, state, workspace }];
    const list = words(sessions).map((word, index) => {
      const owner = word.replace('!', '');
      return { id: String(index), owner: owner === '?' ? null : owner, ...(word.endsWith('!') && { deleted: true }) };
    });
    worktree.sessions = { deleted_kept: deleted === 'kept', list };

    const manifest = parseManifest(JSON.stringify(json));
    const parsed = manifest.worktrees[0];
    if (!parsed?.readings[0]) throw new Error('the manifest is empty');
    const made = decide(parsed.readings[0], parsed.sessions, manifest.organisation);
    expect([made.person ?? '-', made.because]).toEqual([credited, because]);
    expect(made.reason).toMatch(/^["a-zA-Z][^\n]+[^.:]$/);
  },
);

test('the memory folder of a harness that mixes projects is credited to nobody', () => {
  const json = manifestJson();
  for (const { readings } of json.worktrees) for (const reading of readings) reading.harness = 'codex';
  const { organisation, worktrees } = parseManifest(JSON.stringify(json));
  const [worktree] = worktrees;
  if (!worktree?.readings[0]) throw new Error('the manifest is empty');
  const made = decide(worktree.readings[0], worktree.sessions, organisation);
  expect(made).toMatchObject({ person: null, because: 'mixed projects' });
});

function words(text = ''): string[] {
  return text.split(' ').filter((word) => word !== '');
}
