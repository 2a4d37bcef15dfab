import { MAX_READ, Size } from './constants.js';
import type { WireWriter } from './encode.js';
import { errno, errnoOf } from './errno.js';
import type { Answer, Operations } from './operations.js';
import type { DataReply, EntryReply } from './reply.js';
import type { Request } from './request.js';

/** Sends what the writer holds, and after it `tail`. */
export type Send = (out: WireWriter, tail?: DataReply) => void;

/** Everything a dispatch needs of its mount. */
export interface Dispatcher {
  readonly operations: Operations;
  /** The writer for answers given at once; used again for each request. */
  readonly out: WireWriter;
  /** A fresh writer, for an answer given later. */
  newWriter(): WireWriter;
  readonly send: Send;
  /** Told of each request whose answer has to wait, and when it was given: whoever leaves the mount answers the open ones. */
  pending(request: Request, answer: Promise<unknown>): void;
}

const isPromise = (value: unknown): value is Promise<unknown> => value instanceof Promise;

/** Runs the operation that a request asks for and answers it; never throws, and answers every request but FORGET once. */
export function dispatch(d: Dispatcher, request: Request): void {
  const { body, node } = request;
  if (body.op === 'forget') {
    for (const { node: id, count } of body.list) d.operations.forget(id, count);
    return;
  }
  if (body.op === 'interrupt') return;
  if (body.op === 'readdir' || body.op === 'readdirplus') {
    const plus = body.op === 'readdirplus';
    d.out.begin();
    const { size } = body;
    answer(d, request, d.out, () => {
      const code = d.operations.readdir(request.caller, node, body.offset, plus, (e) =>
        d.out.directoryEntry(e, plus, size),
      );
      return code === 0 ? ALREADY_WRITTEN : code;
    });
    return;
  }
  answer(d, request, d.out, () => run(d.operations, request));
}

/** Stands for a payload that is in the writer already. */
const ALREADY_WRITTEN = Symbol('written');
type Payload = ReturnType<typeof run> extends Answer<infer T> ? T | typeof ALREADY_WRITTEN : never;

function answer(
  d: Dispatcher,
  request: Request,
  out: WireWriter,
  work: () => Answer<Payload> | typeof ALREADY_WRITTEN,
): void {
  let result: Answer<Payload> | typeof ALREADY_WRITTEN;
  try {
    result = work();
  } catch (error) {
    result = errnoOf(error);
  }
  if (!isPromise(result)) {
    reply(d, request, out, result);
    return;
  }
  const later = result.then(
    (value) => reply(d, request, d.newWriter(), value),
    (error: unknown) => reply(d, request, d.newWriter(), errnoOf(error)),
  );
  d.pending(request, later);
}

function reply(d: Dispatcher, request: Request, out: WireWriter, result: Payload | number): void {
  write(d, request, out, result);
  d.operations.answered(request.caller);
}

function write(d: Dispatcher, request: Request, out: WireWriter, result: Payload | number): void {
  if (result !== ALREADY_WRITTEN) out.begin();
  if (typeof result === 'number') {
    out.finish(request.uniqueLow, request.uniqueHigh, result);
    d.send(out);
  } else if (typeof result === 'object' && 'data' in result) {
    out.finish(request.uniqueLow, request.uniqueHigh, 0, result.length);
    d.send(out, result);
  } else {
    if (typeof result === 'object') encodePayload(out, result);
    out.finish(request.uniqueLow, request.uniqueHigh, 0);
    d.send(out);
  }
}

function encodePayload(out: WireWriter, result: Exclude<Payload, number | symbol | DataReply>): void {
  if ('open' in result) {
    out.entryOut(result.entry);
    out.openOut(result.open);
  } else if ('entryValid' in result) out.entryOut(result as EntryReply);
  else if ('attrValid' in result) out.attrOut(result);
  else if ('openFlags' in result) out.openOut(result);
  else if ('written' in result) {
    out.u32(result.written);
    out.u32(0);
  } else if ('bsize' in result) out.statfsOut(result);
}

function run(o: Operations, { body, node, caller }: Request) {
  switch (body.op) {
    case 'lookup':
      return o.lookup(caller, node, body.name);
    case 'getattr':
      return o.getattr(caller, node);
    case 'open':
      return o.open(caller, node, body.flags);
    case 'read':
      return o.read(caller, node, body.fh, body.offset, Math.min(body.size, MAX_READ));
    case 'write':
      return o.write(caller, node, body.fh, body.offset, body.data, body.flags, body.fromCache);
    case 'flush':
      return o.flush(caller, node, body.fh);
    case 'release':
      return o.release(caller, node, body.fh);
    case 'create':
      return o.create(caller, node, body.name, body.flags);
    case 'setattr':
      return o.setattr(caller, node, body.change);
    case 'rename':
      return o.rename(caller, node, body.name, body.newParent, body.newName, body.flags);
    case 'unlink':
      return o.unlink(caller, node, body.name);
    case 'mkdir':
      return o.mkdir(caller, node, body.name);
    case 'rmdir':
      return o.rmdir(caller, node, body.name);
    case 'mknod':
      return o.mknod(caller, node, body.name, body.mode);
    case 'fsync':
    case 'fsyncdir':
    case 'syncfs':
      return o.fsync(caller);
    case 'fallocate':
      return o.fallocate(caller, node, body.fh, body.offset, body.length, body.mode);
    case 'statfs':
      return o.statfs(caller);
    case 'access':
      return o.access(caller, node, body.mask);
    case 'opendir':
      return { fhHigh: 0, fhLow: 0, openFlags: 0 };
    case 'releasedir':
    case 'destroy':
      return 0;
    case 'readlink':
      return errno.EINVAL;
    case 'symlink':
    case 'link':
      return errno.EPERM;
    default:
      return errno.ENOSYS;
  }
}

/** Room that a reply needs apart from directory entries: header, entry and open. */
export const FIXED_REPLY_SIZE = Size.OUT_HEADER + Size.ENTRY_OUT + Size.OPEN_OUT;
