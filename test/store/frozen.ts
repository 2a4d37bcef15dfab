import { join } from 'node:path';

/** Schemas of which a store is kept, oldest first; see the README beside them. */
export const FROZEN = [1, 2, 3, 4] as const;

/** The file of a frozen store. */
export function frozen(schema: number): string {
  return join(import.meta.dirname, 'fixtures', `schema-${schema}.db`);
}

/** What its files hold, by path. */
export function headsOf(schema: number): Record<string, string> {
  return {
    'MEMORY.md': '- [Soil](soil.md)\n',
    'soil.md': schema >= 3 ? 'Clay, heavy.\nLime it.\n' : 'Clay, heavy.\n',
    'beds/north.md': 'Carrots.\n',
    'plan.json': '{"rows": 1}\n',
    'new-name.md': 'named\n',
    ...(schema === 1 ? { 'saved.md': 'third\n', 'beans.md': 'Beans go out in May.\n' } : {}),
    ...(schema >= 2 ? { 'saved.md': 'first\n', 'both.md': 'zero\none\nmine\n' } : {}),
  };
}
