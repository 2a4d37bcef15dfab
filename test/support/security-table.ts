import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The rows of a table of `docs/security.md`, by their first cell; without code marks. */
export function securityTable(section: string): Map<string, readonly string[]> {
  const page = readFileSync(join(import.meta.dirname, '../../docs/security.md'), 'utf8');
  const part = page.split(/^## /m).find((text) => text.startsWith(`${section}\n`));
  const lines = part?.split('\n').filter((line) => line.startsWith('| ')) ?? [];
  const rows = lines.slice(2).map((line) => line.slice(2, -2).replaceAll('`', '').split(' | '));
  return new Map(rows.map(([attempt = '', ...results]) => [attempt, results]));
}
