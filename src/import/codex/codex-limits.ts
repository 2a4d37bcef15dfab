/** How much is carried with Codex's memory of a project (spec §3.5, §9). */
export interface CodexLimits {
  /** How many conversations, and how many bytes of them. */
  readonly conversations: number;
  readonly conversationBytes: number;
  /** Bytes that a database of summaries may have. */
  readonly summaryBytes: number;
}

/** What holds where the settings say nothing. */
export const DEFAULT_CODEX_LIMITS: CodexLimits = {
  conversations: 20,
  conversationBytes: 32 * 1024 ** 2,
  summaryBytes: 16 * 1024 ** 2,
};
