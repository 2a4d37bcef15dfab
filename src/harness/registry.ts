import { usageError } from '../errors.js';
import type { HarnessAdapter, MemoryHarness } from './adapter.js';
import { claude } from './claude.js';
import { codex } from './codex.js';
import { memoryless } from './memoryless.js';
import { projectMemory } from './project-memory.js';

/** Every harness mend knows, one line each. */
const registered: readonly HarnessAdapter[] = [
  claude,
  codex,
  memoryless('opencode', 'opencode'),
  memoryless('pi', 'pi'),
  projectMemory,
];

/** Every harness, those that are the archive of another behind it. */
export const harnesses: readonly HarnessAdapter[] = registered.flatMap(withArchive);

/** The harnesses that keep memory, in the order of the registry. */
export const memoryHarnesses: readonly MemoryHarness[] = harnesses.filter(
  (harness): harness is MemoryHarness => harness.keepsMemory,
);

/** Names of the harnesses that keep memory and are no archive of another, which they bring along. */
export const chosenByName: readonly string[] = registered.flatMap(({ name, keepsMemory }) =>
  keepsMemory ? [name] : [],
);

/** A harness with the archive that goes with it. */
export function withArchive<T extends HarnessAdapter>(harness: T): readonly (T | MemoryHarness)[] {
  return harness.keepsMemory && harness.archive ? [harness, harness.archive] : [harness];
}

/** The harness of a name, or undefined. */
export function findHarness(name: string): HarnessAdapter | undefined {
  return harnesses.find((harness) => harness.name === name);
}

/** The memory-keeping harness of a name. Throws a usage error that lists the names, or says it keeps none. */
export function memoryHarness(name: string): MemoryHarness {
  return chosenOf(memoryHarnesses, name);
}

function chosenOf(choice: readonly MemoryHarness[], name: string): MemoryHarness {
  const harness = findHarness(name);
  if (harness?.keepsMemory === true) return harness;
  if (harness !== undefined) throw usageError(harness.reason);
  const names = choice.map((known) => known.name).join(', ');
  throw usageError(`there is no harness "${name}": use one of ${names}`);
}

/** The memory-keeping harness of a name, which has a program to start. Throws a usage error otherwise. */
export function startedHarness(name: string): MemoryHarness {
  const harness = chosenOf(memoryHarnesses.filter(hasProgram), name);
  if (hasProgram(harness)) return harness;
  throw usageError(
    `${harness.title} has no program to start: start the agent that keeps it, as with "mend run claude", which mounts it, too`,
  );
}

function hasProgram({ launch }: MemoryHarness): boolean {
  return launch.programs.length > 0;
}

/** The harness that an executable is (resolved path of `/proc/<pid>/exe`), or undefined. */
export function harnessOfProgram(executable: string): HarnessAdapter | undefined {
  return harnesses.find((harness) => harness.matchesProgram(executable));
}
