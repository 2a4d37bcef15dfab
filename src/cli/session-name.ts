import { usageError } from '../errors.js';
import { printable } from '../project/printable.js';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * Checks the name of a session.
 * @throws {MendError} (usage) for one that no session can have.
 */
export function sessionName(text: string): string {
  if (NAME.test(text)) return text;
  throw usageError(
    `"${printable(text)}" cannot be the name of a session: take up to 64 letters, digits, dots, dashes and underscores, a letter or digit first`,
  );
}
