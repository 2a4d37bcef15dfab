import { Fattr, Opcode, Size } from './constants.js';
import { ProtocolError } from './protocol-error.js';
import type { AttrChange, Body, FileHandle, Request } from './request.js';
import type { WireReader } from './wire-reader.js';

const AT = Size.IN_HEADER;
/** `FUSE_WRITE_CACHE`: the write comes from the page cache, its caller is unknown. */
const FUSE_WRITE_CACHE = 1;
/** The upper half of `FUSE_UNIQUE_RESEND`: the request is sent again. */
const RESENT = 0x8000_0000;
const TWO_32 = 4294967296;

/**
 * Decodes the request that `reader` is limited to (`struct fuse_in_header`, then the struct of its opcode).
 * Write data is a view into the buffer, not a copy.
 * @throws {ProtocolError} when the message is cut short or malformed; nothing else.
 */
export function decodeRequest(reader: WireReader): Request {
  const length = reader.u32(0);
  if (length !== reader.end) throw new ProtocolError('length in the header is not that of the message');
  if (length < Size.IN_HEADER) throw new ProtocolError('message is shorter than its header');
  const opcode = reader.u32(4);
  const uniqueLow = reader.u32(8);
  const uniqueHigh = reader.u32(12);
  return {
    opcode,
    uniqueLow,
    uniqueHigh,
    node: reader.u64(16),
    caller: {
      uid: reader.u32(24),
      gid: reader.u32(28),
      pid: reader.u32(32),
      unique: (uniqueHigh & (RESENT - 1)) * TWO_32 + uniqueLow,
      resent: uniqueHigh >= RESENT,
    },
    body: decodeBody(reader, opcode),
  };
}

function handle(r: WireReader, offset: number): FileHandle {
  return { low: r.u32(offset), high: r.u32(offset + 4) };
}

function decodeBody(r: WireReader, opcode: number): Body {
  switch (opcode) {
    case Opcode.LOOKUP:
      return { op: 'lookup', name: r.name(AT).name };
    case Opcode.GETATTR:
      return { op: 'getattr' };
    case Opcode.READ:
      return { op: 'read', fh: handle(r, AT), offset: r.u64(AT + 8), size: r.u32(AT + 16) };
    case Opcode.WRITE:
      return {
        op: 'write',
        fh: handle(r, AT),
        offset: r.u64(AT + 8),
        data: r.bytes(AT + 40, r.u32(AT + 16)),
        fromCache: (r.u32(AT + 20) & FUSE_WRITE_CACHE) !== 0,
        flags: r.u32(AT + 32),
      };
    case Opcode.OPEN:
      return { op: 'open', flags: r.u32(AT) };
    case Opcode.CREATE:
      return { op: 'create', flags: r.u32(AT), name: r.name(AT + 16).name };
    case Opcode.FLUSH:
      return { op: 'flush', fh: handle(r, AT) };
    case Opcode.RELEASE:
      return { op: 'release', fh: handle(r, AT) };
    case Opcode.FSYNC:
      return { op: 'fsync', fh: handle(r, AT) };
    case Opcode.READDIR:
    case Opcode.READDIRPLUS:
      return {
        op: opcode === Opcode.READDIR ? 'readdir' : 'readdirplus',
        offset: r.u64(AT + 8),
        size: r.u32(AT + 16),
      };
    case Opcode.FORGET:
      return { op: 'forget', list: [{ node: r.u64(16), count: r.u64(AT) }] };
    case Opcode.BATCH_FORGET:
      return { op: 'forget', list: decodeForgets(r) };
    case Opcode.SETATTR:
      return { op: 'setattr', change: decodeAttrChange(r) };
    case Opcode.FALLOCATE:
      return {
        op: 'fallocate',
        fh: handle(r, AT),
        offset: r.u64(AT + 8),
        length: r.u64(AT + 16),
        mode: r.u32(AT + 24),
      };
    case Opcode.INIT:
      return decodeInit(r);
    default:
      return decodeNamespaceBody(r, opcode);
  }
}

function decodeNamespaceBody(r: WireReader, opcode: number): Body {
  switch (opcode) {
    case Opcode.MKNOD:
      return { op: 'mknod', mode: r.u32(AT), name: r.name(AT + 16).name };
    case Opcode.MKDIR:
      return { op: 'mkdir', name: r.name(AT + 8).name };
    case Opcode.UNLINK:
      return { op: 'unlink', name: r.name(AT).name };
    case Opcode.RMDIR:
      return { op: 'rmdir', name: r.name(AT).name };
    case Opcode.SYMLINK:
      return { op: 'symlink', name: r.name(AT).name };
    case Opcode.LINK:
      return { op: 'link', name: r.name(AT + 8).name };
    case Opcode.RENAME:
      return decodeRename(r, AT + 8, 0);
    case Opcode.RENAME2:
      return decodeRename(r, AT + 16, r.u32(AT + 8));
    case Opcode.ACCESS:
      return { op: 'access', mask: r.u32(AT) };
    default:
      return { op: bareOps.get(opcode) ?? 'unknown' };
  }
}

type BareOp = 'readlink' | 'statfs' | 'opendir' | 'syncfs' | 'destroy' | 'interrupt' | 'fsyncdir' | 'releasedir';

/** Requests of which only the header matters. */
const bareOps: ReadonlyMap<number, BareOp> = new Map([
  [Opcode.READLINK, 'readlink'],
  [Opcode.STATFS, 'statfs'],
  [Opcode.OPENDIR, 'opendir'],
  [Opcode.RELEASEDIR, 'releasedir'],
  [Opcode.FSYNCDIR, 'fsyncdir'],
  [Opcode.SYNCFS, 'syncfs'],
  [Opcode.DESTROY, 'destroy'],
  [Opcode.INTERRUPT, 'interrupt'],
] as [number, BareOp][]);

function decodeRename(r: WireReader, names: number, flags: number): Body {
  const from = r.name(names);
  return { op: 'rename', newParent: r.u64(AT), name: from.name, newName: r.name(from.next).name, flags };
}

function decodeForgets(r: WireReader): { node: number; count: number }[] {
  const count = r.u32(AT);
  if (AT + 8 + count * 16 > r.end) throw new ProtocolError('message is too short for its kind');
  const list = [];
  for (let i = 0; i < count; i++) list.push({ node: r.u64(AT + 8 + i * 16), count: r.u64(AT + 16 + i * 16) });
  return list;
}

/** Decodes `struct fuse_setattr_in` (88 bytes). */
function decodeAttrChange(r: WireReader): AttrChange {
  const valid = r.u32(AT);
  const micros = (seconds: number, nanos: number): number => r.i64(seconds) * 1e6 + Math.floor(r.u32(nanos) / 1000);
  r.u32(AT + 84);
  return {
    ...(valid & Fattr.FH ? { fh: handle(r, AT + 8) } : {}),
    ...(valid & Fattr.SIZE ? { size: r.u64(AT + 16) } : {}),
    ...(valid & Fattr.ATIME ? { atime: valid & Fattr.ATIME_NOW ? 'now' : micros(AT + 32, AT + 56) } : {}),
    ...(valid & Fattr.MTIME ? { mtime: valid & Fattr.MTIME_NOW ? 'now' : micros(AT + 40, AT + 60) } : {}),
    ...(valid & Fattr.MODE ? { mode: r.u32(AT + 68) } : {}),
    ...(valid & Fattr.UID ? { uid: r.u32(AT + 76) } : {}),
    ...(valid & Fattr.GID ? { gid: r.u32(AT + 80) } : {}),
  };
}

/** Decodes `struct fuse_init_in`: 16 bytes before 7.36, 64 after. */
function decodeInit(r: WireReader): Body {
  const low = BigInt(r.u32(AT + 12));
  const extended = (low & (1n << 30n)) !== 0n && r.end >= AT + 20;
  return {
    op: 'init',
    major: r.u32(AT),
    minor: r.u32(AT + 4),
    maxReadahead: r.u32(AT + 8),
    flags: extended ? low | (BigInt(r.u32(AT + 16)) << 32n) : low,
  };
}
