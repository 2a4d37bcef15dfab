import { isText } from '../merge/is-text.js';
import type { Store } from '../store/store.js';
import type { VersionRow } from '../store/version-table.js';

/**
 * The conflicts of a file that wait for somebody to settle them, the newest first, each content once. What settles them:
 *
 * - "mend memory restore" of any version, the one that the file holds included: somebody has chosen;
 * - a removal of the file, or a purge of the version;
 * - a head that has every line of the other side.
 *
 * A mere save does not. Agents save often, and know nothing of the other side.
 * @param head content id of what the file holds
 * @param history newest first
 */
export function waitingConflicts(store: Store, head: number, history: readonly VersionRow[]): VersionRow[] {
  const settled = history.find(({ kind }) => kind === 'restored' || kind === 'removed')?.number ?? 0;
  const open = history.filter(
    ({ kind, number, content }) => kind === 'conflict' && number > settled && content !== head,
  );
  const distinct = open.filter((row, i) => open.findIndex(({ content }) => content === row.content) === i);
  if (distinct.length === 0) return [];
  const has = linesOf(store.content(head));
  return distinct.filter(({ content }) => {
    const wanted = linesOf(store.content(content));
    return !has || !wanted || [...wanted].some((line) => !has.has(line));
  });
}

/** The lines of a text that say something; undefined when it is no text. */
function linesOf(bytes: Buffer): Set<string> | undefined {
  if (!isText(bytes)) return undefined;
  return new Set(
    bytes
      .toString()
      .split('\n')
      .map((line) => line.trimEnd())
      .filter((line) => line !== ''),
  );
}
