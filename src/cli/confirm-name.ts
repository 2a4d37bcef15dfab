import { createInterface } from 'node:readline/promises';
import { MendError, usageError } from '../errors.js';
import { quoted } from './output.js';

/** What somebody is asked to confirm by its name, in words. */
export interface Destruction {
  readonly name: string;
  /** What the name is of: file, project. */
  readonly noun: string;
  /** All that goes, such as `note.md and its whole history`. */
  readonly what: string;
  /** `purged`, and `purging`. */
  readonly deed: string;
  readonly doing: string;
  /** The name as it was given with `--confirm`. */
  readonly given: string | undefined;
}

/** @throws {MendError} unless the name was given, or is typed on the terminal now. */
export async function confirmName({ name, noun, what, deed, doing, given }: Destruction): Promise<void> {
  const isName = (text: string | undefined): boolean => text === name || text === quoted(name);
  if (given !== undefined) {
    if (isName(given)) return;
    throw usageError(`--confirm says another name: nothing was ${deed}; give it as ${quoted(name)}`);
  }
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw usageError(`${doing} cannot be undone: add --confirm with the name ${quoted(name)}`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const typed = await Promise.race([
      terminal.question(
        `This destroys ${what} for good, also backups in the store's folder that have it. Type the ${noun}'s name to go on: `,
      ),
      new Promise<undefined>((resolve) => terminal.once('close', () => resolve(undefined))),
    ]);
    if (!isName(typed)) throw new MendError(`that is not the name of the ${noun}: nothing was ${deed}`);
  } finally {
    terminal.close();
  }
}
