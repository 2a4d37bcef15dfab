import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { freeMounts, leftoverMounts } from './mount-table.mjs';
import { sharedTemp } from './shared-temp.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of this test run, readable by every user; removed at its end. */
    runFolder: string;
  }
}

/** Makes the folder of the run; at the end a mount that a test forgot fails the run. */
export default function setup(project: TestProject): () => void {
  const runFolder = mkdtempSync(join(sharedTemp(), 'mend-test-'));
  chmodSync(runFolder, 0o755);
  project.provide('runFolder', runFolder);
  return () => {
    const forgotten = leftoverMounts(runFolder);
    const stuck = freeMounts(runFolder);
    if (stuck.length === 0) rmSync(runFolder, { recursive: true, force: true });
    if (forgotten.length > 0) throw new Error(`The tests left mounts behind: ${forgotten.join(', ')}`);
  };
}
