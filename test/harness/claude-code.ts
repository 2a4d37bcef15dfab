import { type Installed, installProgram } from './npm-program.js';

/** The release this check is written for. Another release is another check: raise it by hand. */
export const CLAUDE_CODE_VERSION = '2.1.332';

const PLATFORM = `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}`;

/** Finds Claude Code, or installs it. */
export function installClaudeCode(): Promise<Installed> {
  return installProgram({
    package: '@anthropic-ai/claude-code',
    version: CLAUDE_CODE_VERSION,
    candidates: [PLATFORM, `${PLATFORM}-musl`].map((folder) => ({
      manifest: `${folder}/package.json`,
      binary: `${folder}/claude`,
    })),
  });
}
