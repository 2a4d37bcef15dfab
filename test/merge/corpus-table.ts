import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { merge } from '../../src/merge/merge.js';
import type { MergeResult } from '../../src/merge/merge-result.js';
import { options, readTriples } from './support.js';

/** The parts of a reported case: the base where there is one, and what both sides made of it. */
export const reportedCases: Record<string, { base?: string; store: string; other: string }> = {
  '01': { base: 'base/MEMORY.md', store: 'ours/MEMORY.md', other: 'theirs/MEMORY.md' },
  '05': { store: 'm1/projects/-Users-al-w/memory/a.md', other: 'm2/projects/-home-al-w/memory/a.md' },
  '18': { base: 'base/a.md', store: 'ours/a.md', other: 'theirs/a.md' },
  '20': { base: 'base/m.md', store: 'ours/m.md', other: 'theirs/m.md' },
  '22': { base: 'base/a.md', store: 'ours/a.md', other: 'theirs/a.md' },
  '24': { base: 'base/a.md', store: 'ours/a.md', other: 'theirs/a.md' },
  '26': { base: 'base/Notes.md', store: 'ours/notes.md', other: 'theirs/Notes.md' },
  '28': { base: 'base/day.md', store: 'ours/day.md', other: 'theirs/day.md' },
  '30': { store: 'ours/MEMORY.md', other: 'theirs/MEMORY.md' },
};

/** Merges one reported case. */
export function mergeCase(corpus: string, id: string): MergeResult {
  const { base, store, other } = reportedCases[id] ?? { store: '', other: '' };
  const read = (file: string) => readFileSync(join(corpus, 'cases', id, file));
  return merge({ base: base === undefined ? null : read(base), store: read(store), other: read(other) }, options);
}

/** The table of docs/merging.md: one row for each triple of real notes and each reported case. */
export function corpusTable(corpus: string): string {
  const rows = [['input', 'base', 'outcome', 'as the person made it', 'lines lost']];
  for (const { id, base, store, other, result } of readTriples(corpus)) {
    if (other === null) continue;
    const merged = merge({ base, store, other }, options);
    const same = merged.kind === 'merged' && result !== null && merged.bytes.equals(result);
    rows.push([
      id,
      base === null ? 'no' : 'yes',
      outcome(merged),
      result === null ? '' : same ? 'yes' : 'no',
      lost(merged),
    ]);
  }
  for (const [id, { base }] of Object.entries(reportedCases).sort()) {
    if (!existsSync(join(corpus, 'cases', id))) continue;
    const merged = mergeCase(corpus, id);
    rows.push([`case ${id}`, base === undefined ? 'no' : 'yes', outcome(merged), '', lost(merged)]);
  }
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
}

/** Clean; union, where the lines of both sides were kept at one place; or conflict, with the reason. */
function outcome(result: MergeResult): string {
  if (result.kind === 'refused') return `conflict: ${result.reason}`;
  return result.clean ? 'clean' : 'union';
}

function lost(result: MergeResult): string {
  return result.kind === 'refused' ? '' : String(result.lost.store + result.lost.other);
}
