import { decodeFh, type Fh, type Handle, localHandle, readHandle, writeHandle } from './handles.js';
import type { FileNode } from './node.js';
import type { Caller, View } from './view.js';

/**
 * The handle of a request on a node; undefined for one that is not open, or leads to something else. After a takeover
 * one that the earlier process could not note any more, as on a full disk, is made anew from what it says by itself.
 */
export function handleFor(view: View, caller: Caller, id: number, fh: Fh): Handle | undefined {
  const known = view.handles.get(fh, id);
  if (known || !view.settling.inherited) return known;
  const node = view.node(id);
  const { serial } = decodeFh(fh);
  if (node?.kind !== 'file' || view.handles.at(serial)) return undefined;
  const handle = madeAnew(view, caller, node, fh);
  if (handle) view.handles.restore(serial, handle);
  return handle;
}

function madeAnew(view: View, caller: Caller, node: FileNode, fh: Fh): Handle | undefined {
  const { tree } = view;
  const { kind, id } = decodeFh(fh);
  if (kind === 'write') {
    const draft = [...(node.drafts?.values() ?? [])].find((each) => each.id === id);
    if (!draft) return undefined;
    draft.handles++;
    return writeHandle(draft, node.content);
  }
  const { session, pid } = view.caller(caller);
  if (kind === 'local') return node.isLocal && id === node.id ? localHandle(node, session, pid, true) : undefined;
  if (kind !== 'read' || (id !== 0 && !tree.services.store.isOfTree(tree.id, id))) return undefined;
  const handle = readHandle(node, session, pid, id === 0 ? null : id);
  node.readers.add(handle);
  return handle;
}
