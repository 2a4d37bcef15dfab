import { expect, test } from 'vitest';
import { standings } from '../../src/import/credit/counting.js';
import { parseManifest } from '../../src/import/credit/parse-manifest.js';
import { manifestJson, readingJson } from './credit-manifest.js';

/** Readings of a worktree with the workspaces s1 and s2: id, harness, workspace, hour, F for final; then what counts. */
const cases: readonly (readonly [readings: string, counts: Record<string, string>])[] = [
  ['a claude s2 1 F', { a: 'final' }],
  ['a claude s2 1', { a: 'provisional' }],
  // The last save of a workspace that was not the last one.
  ['a claude s1 1 F', { a: 'provisional' }],
  ['a claude s1 1 F, b claude s2 2', { a: 'superseded', b: 'provisional' }],
  ['a claude s2 2 F, b claude s1 1', { a: 'final', b: 'superseded' }],
  // Workspaces may have lived at once: the last one counts.
  ['a claude s1 9 F, b claude s2 2 F', { a: 'superseded', b: 'final' }],
  ['a claude s2 1, b claude s2 2, c claude s2 3 F', { a: 'superseded', b: 'superseded', c: 'final' }],
  ['a claude s2 2, b claude s2 1', { a: 'provisional', b: 'superseded' }],
  ['a claude s2 2 F, b project-memory s1 1', { a: 'final', b: 'provisional' }],
];

test.each(cases)('%s', (readings, counts) => {
  const json = manifestJson();
  const list = readings.split(', ').map((text) => {
    const [id = '', harness = '', workspace = '', hour, final] = text.split(' ');
    const time = `2026-01-01T0${hour}:00:00Z`;
    return { ...readingJson(), id, harness, workspace, folder: `/srv/${id}`, time, final: final === 'F' };
  });
  json.worktrees = json.worktrees.map((worktree) => ({ ...worktree, workspaces: ['s1', 's2'], readings: list }));
  const [worktree] = parseManifest(JSON.stringify(json)).worktrees;
  if (!worktree) throw new Error('the manifest is empty');
  const found = [...standings(worktree)].map(([{ id }, { kind }]) => [id, kind]);
  expect(Object.fromEntries(found)).toEqual(counts);
});
