import { type CameTo, Outdated } from '../ports/store.js';
import { Unmerged } from './merging.js';
import { doneKey } from './notes.js';
import type { Told } from './saving.js';
import type { Caller, View } from './view.js';

/** How often an operation looks again when others keep changing the tree before it can commit. */
const ATTEMPTS = 20;

/** Answers 0 at once, or when the other kernels were told. */
export function done(result: Told | number): number | Promise<number> {
  if (!(result instanceof Promise)) return result ?? 0;
  return result.then((value) => (typeof value === 'number' ? value : 0));
}

/**
 * Runs an operation, and runs it again when others had changed what it looked at (`Outdated`).
 * @param caller whose request it is, so that the store knows it as applied; undefined when it may be done twice
 */
export function settled<T>(view: View, caller: Caller | undefined, work: () => T): T {
  const { requests } = view.tree.services.store;
  const unique = caller?.unique;
  for (let attempt = 1; ; attempt++) {
    try {
      const result = unique === undefined ? work() : requests.during(view.mount, unique, work);
      // While it waits others are served: whoever takes over has to know that all of it was done.
      if (unique !== undefined && result instanceof Promise) noteDone(view, unique, true);
      return result;
    } catch (error) {
      if (!(error instanceof Outdated) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** How often a merge is tried beside other requests when its sides keep changing; then everybody waits for it. */
const PATIENCE = 3;

/** The same for an operation that may need a merge: that is done elsewhere when it takes long, and other requests go on. */
export function merged<T>(view: View, caller: Caller, work: () => T, attempt = 1): T | Promise<Awaited<T>> {
  const { merger } = view.tree.services;
  try {
    merger.inPlace = attempt > PATIENCE;
    return settled(view, caller, work);
  } catch (error) {
    if (!(error instanceof Unmerged)) throw error;
    return error.ready.then(() => {
      if (view.isShutOut(caller)) throw Object.assign(new Error('the session is shared'), { code: 'ESTALE' });
      return merged(view, caller, work, attempt + 1);
    }) as Promise<Awaited<T>>;
  } finally {
    merger.inPlace = false;
  }
}

/** Notes of a request that was applied that what follows from it was done, where that must not be done twice. */
export function onlyOnce(view: View, { unique }: Caller): void {
  const isApplied = unique !== undefined && view.tree.services.store.requests.isApplied(view.mount, unique);
  if (isApplied) noteDone(view, unique, true);
}

/** A request that an earlier process applied and did not answer. */
export interface Repeated {
  readonly came: CameTo;
  /** What follows from it was done and noted as well: only the answer is missing. */
  readonly isDone: boolean;
}

/** What is known of a request that is sent again; undefined when it has to be done. */
export function repeated(view: View, caller: Caller): Repeated | undefined {
  if (!caller.resent || caller.unique === undefined) return undefined;
  const { store } = view.tree.services;
  const came = store.requests.find(view.mount, caller.unique);
  if (!came) return undefined;
  const isDone = view.doneBefore.has(caller.unique);
  // What follows is done now, once: the next process may have to answer it again.
  if (!isDone) noteDone(view, caller.unique, true);
  return { came, isDone };
}

/** A request was answered: nobody asks for it again. */
export function answered(view: View, { unique }: Caller): void {
  if (unique === undefined) return;
  view.tree.services.store.requests.answered(view.mount, unique);
  if (view.doneBefore.delete(unique)) noteDone(view, unique, false);
}

function noteDone(view: View, unique: number, isDone: boolean): void {
  view.tree.services.journal.note(doneKey(view.mount, unique), isDone ? () => 1 : undefined);
  if (isDone) view.doneBefore.add(unique);
}
