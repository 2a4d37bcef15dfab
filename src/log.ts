import { writeSync } from 'node:fs';

/** Severity of a log line, lowest first. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const order: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

function threshold(): number {
  const wanted = process.env['MEND_LOG'];
  return wanted !== undefined && wanted in order ? order[wanted as LogLevel] : order.info;
}

/**
 * Writes one line to standard error: time, level, message, and `key=value` details.
 * Callers pass identifiers, counts and errno names only, never file content.
 */
export function log(level: LogLevel, message: string, details: Record<string, string | number | boolean> = {}): void {
  if (order[level] < threshold()) return;
  let line = `${new Date().toISOString()} ${level} ${message}`;
  for (const [key, value] of Object.entries(details)) line += ` ${key}=${JSON.stringify(value)}`;
  try {
    // Not the stream: that one ends the process when the line cannot be written, as on a full disk.
    writeSync(2, `${line}\n`);
  } catch {
    // There is nobody to tell.
  }
}

/** Text of an unknown thrown value for a log line, with its stack when it has one. */
export function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
