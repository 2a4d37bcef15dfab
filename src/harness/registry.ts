import { usageError } from '../errors.js';
import type { HarnessAdapter, MemoryHarness } from './adapter.js';
import { claude } from './claude.js';
import { codex } from './codex.js';
import { memoryless } from './memoryless.js';

/** Every harness mend knows, one line each. */
export const harnesses: readonly HarnessAdapter[] = [
  claude,
  codex,
  memoryless('opencode', 'opencode'),
  memoryless('pi', 'pi'),
];

/** The harnesses that keep memory, in the order of the registry. */
export const memoryHarnesses: readonly MemoryHarness[] = harnesses.filter(
  (harness): harness is MemoryHarness => harness.keepsMemory,
);

/** The harness of a name, or undefined. */
export function findHarness(name: string): HarnessAdapter | undefined {
  return harnesses.find((harness) => harness.name === name);
}

/** The memory-keeping harness of a name. Throws a usage error that lists the names, or says it keeps none. */
export function memoryHarness(name: string): MemoryHarness {
  const harness = findHarness(name);
  if (harness?.keepsMemory === true) return harness;
  if (harness !== undefined) throw usageError(harness.reason);
  const names = memoryHarnesses.map((known) => known.name).join(', ');
  throw usageError(`there is no harness "${name}": use one of ${names}`);
}

/** The harness that an executable is (resolved path of `/proc/<pid>/exe`), or undefined. */
export function harnessOfProgram(executable: string): HarnessAdapter | undefined {
  return harnesses.find((harness) => harness.matchesProgram(executable));
}
