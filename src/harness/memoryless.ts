import type { MemorylessHarness } from './adapter.js';
import { executableName } from './executable.js';

/** A harness without a memory folder, known by the name of its program. */
export function memoryless(name: string, title: string): MemorylessHarness {
  return {
    name,
    title,
    keepsMemory: false,
    reason: `${title} keeps no memory folder, so there is nothing for mend to mount`,
    matchesProgram: (executable) => executableName(executable) === name,
  };
}
