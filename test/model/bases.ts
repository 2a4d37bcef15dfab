import { type Content, changes } from './texts.js';

/** What a session came to know of a file: by reading it, by writing it, or by finding that it is not there. */
export interface Sight {
  /** One content; several where more than one can be called the last that the session knew. */
  readonly values: readonly Content[];
  readonly pid: number;
  /** µs. */
  readonly at: number;
  readonly read: boolean;
  /** It may count or not. */
  readonly doubtful?: boolean;
}

/** A moment at which a session was writing: what it knew then, and which process wrote. Times are µs. */
export interface Moment {
  readonly sights: readonly Sight[];
  readonly pid: number;
  readonly at: number;
  /** When the process started. */
  readonly started: number;
}

/** Stands for the base of a session that never saw the file. */
export const NOTHING = Symbol('nothing');
export type Base = Content | typeof NOTHING;

/** A read this long, in µs, before a save is surely one that was made at once before it; */
const SURELY = 1_000_000;
/** and one longer ago than this surely not. In between, it may be taken for either. */
export const POSSIBLY = 10_000_000;

/**
 * The bases that the spec allows for a text (§5.2–5.3). The base is what the session last knew: its last sight. A read
 * at once before the save by the same process is only the second candidate beside what was known before it, the one
 * that explains the text with fewer changes is taken, and the read if both do equally well. Where a text was begun and
 * saved at different times, or by different processes, "at once" and "same" may refer to either.
 */
export function allowedBases(moments: readonly Moment[], saver: { pid: number; at: number }, text: string): Set<Base> {
  const allowed = new Set<Base>();
  for (const moment of moments) {
    const certain = moment.sights.filter((sight) => sight.doubtful !== true);
    for (const sights of certain.length < moment.sights.length ? [moment.sights, certain] : [certain]) {
      const last = sights.at(-1);
      if (!last) allowed.add(NOTHING);
      else for (const base of basesAt({ ...moment, sights }, last, [saver, ...moments], text)) allowed.add(base);
    }
  }
  return allowed;
}

function* basesAt(
  moment: Moment,
  last: Sight,
  saving: readonly { pid: number; at: number }[],
  text: string,
): Generator<Content, void> {
  const pids = saving.map(({ pid }) => pid);
  const ages = saving.map(({ at }) => at - last.at);
  const surely = last.read && pids.every((pid) => pid === last.pid) && Math.max(...ages) < SURELY;
  const possibly = last.read && pids.includes(last.pid) && Math.min(...ages) < POSSIBLY;
  // Nobody looks for a file only to replace it: that it was missing may count at once.
  if (!surely || last.values.includes(null)) yield* last.values;
  if (!possibly) return;
  // Several reads at once: whichever of them showed something else may be what the text was made from, too.
  let index = moment.sights.length - 1;
  const reads: Content[] = [];
  for (let sight = moment.sights[index]; sight?.read && sight.pid === last.pid; sight = moment.sights[--index]) {
    if (last.at - sight.at >= POSSIBLY) break;
    reads.unshift(...sight.values);
  }
  const before = moment.sights[index];
  // A program that started later than that has nothing of it in mind.
  if (before && moment.started >= before.at) yield* last.values;
  // Who read it more than once, and writes just what it knew before, takes back on purpose what came since.
  const again = reads.filter((read) => last.values.includes(read)).length > 1;
  const earlier = [...(before?.values ?? []), ...reads];
  if (again && earlier.some((known) => changes(known, text) === 0)) yield* last.values;
  for (const reread of last.values) {
    for (const known of before?.values ?? [reread]) {
      const candidates = [known, ...reads.filter((read) => read !== reread), reread];
      yield explaining(candidates, text);
      yield explaining(
        candidates
          .filter((each) => each !== reread)
          .slice(-1)
          .concat(reread),
        text,
      );
    }
  }
}

/** The content that explains a text with the fewest changes; of equals, the last. */
function explaining(candidates: readonly Content[], text: string): Content {
  const fewest = Math.min(...candidates.map((candidate) => changes(candidate, text)));
  return candidates.findLast((candidate) => changes(candidate, text) === fewest) ?? null;
}
