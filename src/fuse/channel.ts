import { describeError, log } from '../log.js';
import { FUSE_ROOT_ID, REQUEST_BUFFER_SIZE, Size } from './constants.js';
import { decodeRequest } from './decode.js';
import { type Dispatcher, dispatch, FIXED_REPLY_SIZE } from './dispatch.js';
import { type Owner, WireWriter } from './encode.js';
import { errno } from './errno.js';
import { type Agreement, type Connection, encodeInit, negotiate } from './init.js';
import type { Native, NativeChannel } from './native.js';
import { resendRequests } from './notifications.js';
import type { Operations } from './operations.js';
import type { DataReply } from './reply.js';
import type { Request } from './request.js';
import { WireReader } from './wire-reader.js';

/** How many requests one wake-up serves before the event loop gets its turn. */
const BATCH = 256;
/** Room for one READDIRPLUS answer: the kernel asks for at most 256 pages at a time. */
const REPLY_BUFFER_SIZE = 128 * 1024;

/** What a mount's owner is told. */
export interface ChannelEvents {
  /** A request was served. */
  called(): void;
  /** An answer is about to go to the kernel: what it says has to outlive this process from here on. */
  answering(): void;
  ready(connection: Connection): void;
  /** The kernel ended the connection: unmounted or aborted. Nothing is served after this. */
  ended(): void;
}

/** Serves the kernel's requests of one mount over its `/dev/fuse` descriptor, on the loop of the calling thread. */
export class Channel {
  readonly #native: Native;
  readonly #fd: number;
  readonly #events: ChannelEvents;
  readonly #requests: Buffer;
  readonly #reader: WireReader;
  readonly #dispatcher: Dispatcher;
  /** Requests that are not answered yet. */
  readonly #waiting = new Set<Request>();
  #channel: NativeChannel | undefined;
  #ready = false;
  /** Nothing more is read; the kernel keeps what comes for whoever serves the descriptor next. */
  #resting = false;

  /**
   * @param connection what the kernel agreed on with a process that died, or left; it sends again what that one has
   *   not answered
   */
  constructor(
    native: Native,
    fd: number,
    owner: Owner,
    operations: Operations,
    events: ChannelEvents,
    connection?: Agreement,
  ) {
    this.#native = native;
    this.#fd = fd;
    this.#events = events;
    this.#requests = Buffer.alloc(REQUEST_BUFFER_SIZE);
    this.#reader = new WireReader(this.#requests);
    this.#dispatcher = {
      operations,
      out: new WireWriter(Buffer.alloc(REPLY_BUFFER_SIZE), owner),
      newWriter: () => new WireWriter(Buffer.alloc(FIXED_REPLY_SIZE), owner),
      send: (out, tail) => this.#send(out, tail),
      pending: (request, answer) => {
        this.#waiting.add(request);
        answer.then(() => this.#waiting.delete(request));
      },
    };
    if (connection) {
      this.#ready = true;
      // Before anything is read: what is read and waits would come a second time.
      if (connection.resend) this.#askAgain();
    }
    const channel = native.watch(fd, () => this.#drain());
    if (typeof channel === 'number') throw Object.assign(new Error('cannot watch /dev/fuse'), { errno: channel });
    this.#channel = channel;
  }

  /** The descriptor of the mount; undefined once nothing is served any more. */
  get descriptor(): number | undefined {
    return this.#channel && this.#fd;
  }

  /** Sends a notification from the channel's own thread; resolves with 0 or `-errno` when the kernel has taken it. */
  notify(message: Buffer): Promise<number> {
    return new Promise((resolve) => {
      if (!this.#channel) return resolve(-errno.ENOTCONN);
      const code = this.#native.notify(this.#channel, message, resolve);
      if (code < 0) resolve(code);
    });
  }

  #askAgain(): void {
    const message = resendRequests();
    const code = this.#native.send(this.#fd, message, message.length);
    if (code < 0) log('error', 'the kernel does not send again what was not answered', { errno: -code });
  }

  /** Reads nothing more; resolves when every request that was read is answered, or after `patience` ms. */
  async rest(patience: number): Promise<void> {
    this.#resting = true;
    for (const end = Date.now() + patience; this.#waiting.size > 0 && Date.now() < end; )
      await new Promise((resolve) => setTimeout(resolve, 1));
    const channel = this.#channel;
    this.#channel = undefined;
    if (channel) this.#native.unwatch(channel);
  }

  /**
   * Stops serving and closes the descriptor. Requests that still wait fail with ENOTCONN: the kernel itself fails them
   * only when a notification that it holds back lets go of its copy of the descriptor, and that may wait for them.
   * Requests that come later are the kernel's to fail.
   */
  close(): void {
    this.#shut(true);
  }

  /** @param answers whether the kernel still takes answers */
  #shut(answers: boolean): void {
    const channel = this.#channel;
    if (!channel) return;
    this.#channel = undefined;
    this.#native.unwatch(channel);
    if (answers) {
      for (const { uniqueLow, uniqueHigh } of this.#waiting) this.#refuse(uniqueLow, uniqueHigh, errno.ENOTCONN);
    }
    this.#waiting.clear();
    this.#native.closeDescriptor(this.#fd);
  }

  #drain(): void {
    for (let served = 0; served < BATCH && this.#channel && !this.#resting; served++) {
      const length = this.#native.receive(this.#fd, this.#requests);
      if (length === 0) return;
      if (length < 0) {
        if (length !== -errno.ENODEV) log('error', 'cannot read /dev/fuse', { errno: -length });
        this.#end();
        return;
      }
      this.#serve(length);
    }
  }

  #serve(length: number): void {
    try {
      this.#reader.limit(length);
      const request = decodeRequest(this.#reader);
      if (request.body.op === 'init') {
        const connection = negotiate(request.body);
        const { out } = this.#dispatcher;
        out.begin();
        encodeInit(out, connection);
        out.finish(request.uniqueLow, request.uniqueHigh, 0);
        this.#send(out);
        this.#ready = true;
        this.#events.ready(connection);
      } else {
        dispatch(this.#dispatcher, request);
        this.#events.called();
      }
    } catch (error) {
      log('error', 'request not understood', { error: describeError(error) });
      // Only when its header, at least, can be read.
      if (this.#channel && length >= Size.IN_HEADER)
        this.#refuse(this.#requests.readUInt32LE(8), this.#requests.readUInt32LE(12), errno.EIO);
      // A kernel that speaks another protocol never says anything else: whoever waits for it must be told.
      if (!this.#ready) this.#end();
    }
  }

  #end(): void {
    this.#shut(false);
    this.#events.ended();
  }

  #refuse(uniqueLow: number, uniqueHigh: number, code: number): void {
    const { out } = this.#dispatcher;
    out.begin();
    out.finish(uniqueLow, uniqueHigh, code);
    this.#write(out);
  }

  #send(out: WireWriter, tail?: DataReply): void {
    // An answer that comes after close() must not go to whatever has this descriptor by now.
    if (this.#channel) this.#write(out, tail);
  }

  #write(out: WireWriter, tail?: DataReply): void {
    this.#events.answering();
    const code = tail
      ? this.#native.send(this.#fd, out.bytes, out.length, tail.data, tail.start, tail.length)
      : this.#native.send(this.#fd, out.bytes, out.length);
    // ENOENT: the caller was interrupted meanwhile and no longer waits for this answer.
    if (code < 0 && code !== -errno.ENOENT) log('warn', 'answer not taken by the kernel', { errno: -code });
  }
}

export { FUSE_ROOT_ID };
