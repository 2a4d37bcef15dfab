import { afterAll, beforeAll, describe } from 'vitest';
import { CLAUDE_CODE_VERSION, installClaudeCode } from './claude-code.js';
import { type Home, Workspace } from './workspace.js';

const program = process.env['MEND_HARNESS'] ? await installClaudeCode() : { unreachable: 'MEND_HARNESS is not set' };
const skipped = 'unreachable' in program ? ` (skipped: ${program.unreachable})` : '';
if (skipped) console.warn(`Claude Code ${CLAUDE_CODE_VERSION}${skipped}`);

/** A workspace whose repository has its memory mounted in the user's first home; there from before the first test on. */
export interface Place {
  workspace: Workspace;
  home: Home;
}

/**
 * A group of tests with the real Claude Code, which are skipped where it cannot be had.
 * @param title comes behind the name of the program and its version
 * @param timeout of each test, and of what is done before and after them, in ms
 */
export function withClaudeCode(title: string, timeout: number, tests: (place: Place) => void): void {
  describe.skipIf(skipped)(`Claude Code ${CLAUDE_CODE_VERSION}${title}${skipped}`, { timeout }, () => {
    const place = {} as Place;

    beforeAll(async () => {
      if ('unreachable' in program) throw new Error(program.unreachable);
      place.workspace = await Workspace.open(program.binary);
      await place.workspace.createRepository();
      place.home = await place.workspace.mount(place.workspace.home);
    }, timeout);

    afterAll(() => place.workspace?.close(), timeout);

    tests(place);
  });
}
