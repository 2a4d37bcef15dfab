import { MendError } from '../../errors.js';

/** How a check ended: nothing to do, something to look after, or something that does not work. */
export type Status = 'ok' | 'warning' | 'problem';

/** What a check found; an entry of `mend doctor --json`. */
export interface Finding {
  /** Name of the check. */
  readonly check: string;
  readonly status: Status;
  /** One sentence without its end. */
  readonly message: string;
  /** What to do; null when there is nothing to do. */
  readonly hint: string | null;
}

/** A finding whose check is named by whoever runs it. */
export type Result = Omit<Finding, 'check'>;

export function ok(message: string): Result {
  return { status: 'ok', message, hint: null };
}

export function warning(message: string, hint: string): Result {
  return { status: 'warning', message, hint };
}

export function problem(message: string, hint: string): Result {
  return { status: 'problem', message, hint };
}

/** The results that are faults, each once, or one that says that there is none. */
export function orOk(faults: readonly Result[], message: string): readonly Result[] {
  const texts = faults.map((fault) => `${fault.message}\0${fault.hint}`);
  return faults.length > 0 ? faults.filter((_, i) => texts.indexOf(texts[i] ?? '') === i) : [ok(message)];
}

/** An error as a problem: "what is wrong: what to do". */
export function problemOf(error: unknown): Result {
  const text = error instanceof Error ? error.message : String(error);
  if (!(error instanceof MendError))
    return problem(`this could not be looked at (${text})`, 'run it with MEND_LOG=debug');
  const [, message = text, hint = 'correct that and run "mend doctor" again'] = /^(.*?): (.*)$/s.exec(text) ?? [];
  return problem(message, hint);
}
