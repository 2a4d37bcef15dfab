import { type Installed, installProgram } from './npm-program.js';

/** The release this check is written for. Another release is another check: raise it by hand. */
export const CODEX_VERSION = '0.171.0';

const PLATFORM = `node_modules/@openai/codex-${process.platform}-${process.arch}`;
const TARGET = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-unknown-linux-musl`;

/** Finds Codex, or installs it. */
export function installCodex(): Promise<Installed> {
  return installProgram({
    package: '@openai/codex',
    version: CODEX_VERSION,
    candidates: [{ manifest: `${PLATFORM}/package.json`, binary: `${PLATFORM}/vendor/${TARGET}/bin/codex` }],
  });
}
