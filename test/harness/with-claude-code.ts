import { afterAll, beforeAll, describe } from 'vitest';
import { CLAUDE_CODE_VERSION, installClaudeCode } from './claude-code.js';
import { type Home, Workspace } from './workspace.js';

const program = process.env['MEND_HARNESS'] ? await installClaudeCode() : { unreachable: 'MEND_HARNESS is not set' };
if ('unreachable' in program) console.warn(`Claude Code ${CLAUDE_CODE_VERSION} is skipped: ${program.unreachable}`);

/** A workspace whose repository has its memory mounted in the user's first home; there from before the first test on. */
export interface Place {
  workspace: Workspace;
  home: Home;
}

/**
 * A group of tests with the program alone, which are skipped where it cannot be had.
 * @param title comes behind the name of the program and its version
 * @param timeout of each test, in ms
 * @param tests gets the path of the program
 * @param wanting what else is missing, for which they are skipped
 */
export function withClaudeCodeAlone(
  title: string,
  timeout: number,
  tests: (binary: string) => void,
  wanting?: string,
): void {
  const skipped = 'unreachable' in program ? program.unreachable : wanting;
  const note = skipped === undefined ? '' : ` (skipped: ${skipped})`;
  describe.skipIf(note)(`Claude Code ${CLAUDE_CODE_VERSION}${title}${note}`, { timeout }, () =>
    tests('unreachable' in program ? '' : program.binary),
  );
}

/**
 * A group of tests with the real Claude Code in a workspace.
 * @param title comes behind the name of the program and its version
 * @param timeout of each test, and of what is done before and after them, in ms
 */
export function withClaudeCode(title: string, timeout: number, tests: (place: Place) => void): void {
  withClaudeCodeAlone(title, timeout, (binary) => {
    const place = {} as Place;

    beforeAll(async () => {
      place.workspace = await Workspace.open(binary);
      await place.workspace.createRepository();
      place.home = await place.workspace.mount(place.workspace.home);
    }, timeout);

    afterAll(() => place.workspace?.close(), timeout);

    tests(place);
  });
}
