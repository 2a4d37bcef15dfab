import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';

const SETTINGS = 'config.toml';

/** What the settings of a Codex home say under `memories`. A file that cannot be read or parsed is for Codex to complain of. */
export function memorySettings(home: string): Readonly<Record<string, unknown>> {
  const file = join(home, SETTINGS);
  try {
    // A pipe would keep whoever reads it waiting.
    if (!statSync(file).isFile()) return {};
    const { memories } = parse(readFileSync(file, 'utf8'));
    return typeof memories === 'object' && !Array.isArray(memories) ? { ...memories } : {};
  } catch {
    return {};
  }
}
