/** What went wrong, in classes that callers tell apart; each maps to one exit status (spec §11.1). */
export type ErrorKind = 'usage' | 'failed';

/**
 * An error that a person reads. `message` is one sentence that says what is wrong and what to do;
 * it never contains memory content.
 */
export class MendError extends Error {
  override readonly name = 'MendError';
  readonly kind: ErrorKind;

  constructor(message: string, options: { kind?: ErrorKind; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = options.kind ?? 'failed';
  }
}

/** Builds the error for a call that was written wrongly (exit status 2). */
export function usageError(message: string): MendError {
  return new MendError(message, { kind: 'usage' });
}

/** Tells whether a value is a Node.js system error, optionally with one of the given codes. */
export function isSystemError(error: unknown, ...codes: string[]): error is NodeJS.ErrnoException {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return codes.length === 0 || codes.includes(String(error.code));
}
