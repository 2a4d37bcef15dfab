import {
  FUSE_KERNEL_MINOR_VERSION,
  FUSE_KERNEL_VERSION,
  FUSE_MINIMUM_MINOR_VERSION,
  InitBit,
  MAX_WRITE,
  MINOR_INC_EPOCH,
} from './constants.js';
import type { WireWriter } from './encode.js';
import { ProtocolError } from './protocol-error.js';
import type { InitIn } from './request.js';

/** Seconds after which the kernel ends a connection whose server does not answer (kernel 6.14 and later). */
const REQUEST_TIMEOUT = 120;
/** How many background requests (RELEASE among them) may be queued before a later one waits. */
const MAX_BACKGROUND = 4096;
const MAX_PAGES = MAX_WRITE / 4096;

/** For tests: leaves out the kernel's sending again, as kernels before 6.9 do. */
const WITHOUT_RESEND = 'MEND_WITHOUT_RESEND';

/** What this kernel and mend agreed on. */
export interface Connection {
  /** Version of the protocol that the kernel speaks, as in `7.45`. */
  readonly protocol: string;
  readonly minor: number;
  /** The kernel can send requests in flight again (NOTIFY_RESEND). */
  readonly resend: boolean;
  /** The kernel can drop every cached name at once, without a lock (NOTIFY_INC_EPOCH). */
  readonly epoch: boolean;
  readonly requestTimeout: boolean;
  readonly flags: bigint;
  readonly maxReadahead: number;
}

const WANTED = [
  InitBit.ASYNC_READ,
  InitBit.ATOMIC_O_TRUNC,
  InitBit.BIG_WRITES,
  InitBit.DO_READDIRPLUS,
  InitBit.PARALLEL_DIROPS,
  InitBit.MAX_PAGES,
  InitBit.INIT_EXT,
  InitBit.HAS_RESEND,
  InitBit.REQUEST_TIMEOUT,
].reduce((set, bit) => set | (1n << BigInt(bit)), 0n);

/** What matters of an agreement to a process that takes the connection over. */
export type Agreement = Pick<Connection, 'protocol' | 'resend' | 'epoch'>;

/**
 * Decides what to use of what the kernel offers.
 * @throws {ProtocolError} when the kernel's protocol is not 7.28 (Linux 4.20) or later.
 */
export function negotiate(offer: InitIn): Connection {
  if (offer.major !== FUSE_KERNEL_VERSION || offer.minor < FUSE_MINIMUM_MINOR_VERSION) {
    throw new ProtocolError(`kernel speaks FUSE ${offer.major}.${offer.minor}`);
  }
  const left = process.env[WITHOUT_RESEND] === undefined ? 0n : 1n << BigInt(InitBit.HAS_RESEND);
  const flags = offer.flags & WANTED & ~left;
  const has = (bit: number): boolean => (flags & (1n << BigInt(bit))) !== 0n;
  return {
    protocol: `${offer.major}.${offer.minor}`,
    minor: Math.min(offer.minor, FUSE_KERNEL_MINOR_VERSION),
    resend: has(InitBit.HAS_RESEND),
    epoch: offer.minor >= MINOR_INC_EPOCH,
    requestTimeout: has(InitBit.REQUEST_TIMEOUT),
    flags,
    maxReadahead: offer.maxReadahead,
  };
}

/** Writes `struct fuse_init_out` (64 bytes; `max_stack_depth` of 7.40 and `request_timeout` of 7.43 included). */
export function encodeInit(out: WireWriter, connection: Connection): void {
  out.u32(FUSE_KERNEL_VERSION);
  out.u32(connection.minor);
  out.u32(connection.maxReadahead);
  out.u32(Number(connection.flags & 0xffffffffn));
  out.u32(MAX_BACKGROUND | ((MAX_BACKGROUND * 0.75) << 16));
  out.u32(MAX_WRITE);
  out.u32(1000);
  out.u32(MAX_PAGES);
  out.u32(Number(connection.flags >> 32n));
  out.u32(0);
  out.u32(connection.requestTimeout ? REQUEST_TIMEOUT : 0);
  for (let i = 0; i < 5; i++) out.u32(0);
}
