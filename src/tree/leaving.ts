import { describeError, log } from '../log.js';
import { keepLeftovers } from './resuming.js';
import { keepAside } from './saving.js';
import type { View } from './view.js';
import { dropDraft } from './writing.js';

/**
 * Lets go of a mount that ends: nobody can close what is open in it any more. A draft that another mount's open files
 * lead to goes on there; every other one is kept as a version (spec §4.8). Never throws: what cannot be kept now is
 * still in the store as a draft, of which the next daemon makes a version.
 * @param unserved it ended while nobody served it: what an earlier process left open counts as well
 */
export function leave(view: View, unserved = false): void {
  for (const handle of view.handles.takeAll()) {
    if (handle.kind === 'read') handle.node.readers.delete(handle);
    if (handle.kind !== 'write') continue;
    const { draft } = handle;
    draft.handles--;
    if (draft.handles > 0) continue;
    try {
      if (draft.dirty) keepAside(view, draft, 'interrupted');
    } catch (error) {
      log('error', 'unsaved writes could not be kept as a version yet', { error: describeError(error) });
    }
    dropDraft(draft);
  }
  if (unserved && view.tree.views.size === 1) keepLeftovers(view);
  view.close();
}
