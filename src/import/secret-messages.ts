/** A likely secret: what kind, and where. Never what it is. */
export interface SecretFinding {
  /** What kind, in a short name for people, such as `private-key`; `NOT_SCANNED` when nobody could look. */
  readonly rule: string;
  /** 1-based. */
  readonly line: number;
}

/** The rule of the one finding, on line 1, of a file that could not be looked at: the scan took too long or broke off. */
export const NOT_SCANNED = 'not-scanned';

/** What the scanning thread is sent; the bytes are moved to it. */
export interface ScanRequest {
  readonly id: number;
  readonly bytes: Uint8Array;
}

/** What it answers; no findings when a rule broke off. */
export interface ScanAnswer {
  readonly id: number;
  readonly findings: readonly SecretFinding[] | undefined;
}
