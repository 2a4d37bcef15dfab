import type { Socket } from 'node:net';
import {
  AbstractMessageReader,
  type DataCallback,
  type Disposable,
  type Message,
  type MessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node.js';

/** Longest message, in bytes: what commands and daemons say to each other is shorter by far. */
const LONGEST = 1024 * 1024;
/** Longest head of a message, in bytes. */
const HEAD_LONGEST = 64;
const FIELD = 'Content-Length: ';
/** What a head may be that has not come to its end. */
const BEGUN = /^Content-Length: \d{0,7}(\r(\n\r?)?)?$/;
const HEAD = /^Content-Length: (\d{1,7})\r\n\r\n/;
/** Requests of one connection that wait for their answers, from which on no more is read from it. */
const WAITING_MOST = 64;

/**
 * Reads messages from a control socket: `Content-Length`, an empty line, and JSON. Unlike the library's own reader it
 * takes no more than a message may be long, whatever the other side says or sends, and nothing while many requests of the
 * connection wait: who never reads its answers makes nobody's memory grow.
 */
export class ControlReader extends AbstractMessageReader implements MessageReader {
  readonly #socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  #callback: DataCallback = () => undefined;
  #waiting = 0;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
  }

  listen(callback: DataCallback): Disposable {
    this.#callback = callback;
    const take = (bytes: Buffer): void => this.#take(bytes);
    const failed = (error: Error): void => this.fireError(error);
    const closed = (): void => this.fireClose();
    this.#socket.on('data', take).on('error', failed).on('close', closed);
    return {
      dispose: () => {
        this.#socket.off('data', take).off('error', failed).off('close', closed);
      },
    };
  }

  /** A request was answered. */
  answered(): void {
    this.#waiting--;
    if (this.#waiting < WAITING_MOST && this.#socket.isPaused()) this.#socket.resume();
  }

  #take(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    try {
      for (let message = this.#cut(); message !== undefined; message = this.#cut()) this.#give(message);
    } catch (error) {
      this.#bytes = Buffer.alloc(0);
      this.fireError(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The next whole message, as JSON; undefined while there is none. */
  #cut(): string | undefined {
    if (this.#bytes.length === 0) return undefined;
    const begin = this.#bytes.toString('latin1', 0, HEAD_LONGEST);
    const head = HEAD.exec(begin);
    if (!head) {
      if (!FIELD.startsWith(begin) && !BEGUN.test(begin)) throw new Error('a message without a head');
      return undefined;
    }
    const start = head[0].length;
    const end = start + Number(head[1]);
    if (end - start > LONGEST) throw new Error('a message that is too long');
    if (this.#bytes.length < end) return undefined;
    const text = this.#bytes.toString('utf8', start, end);
    this.#bytes = this.#bytes.subarray(end);
    return text;
  }

  #give(text: string): void {
    const message = JSON.parse(text) as unknown;
    if (typeof message !== 'object' || message === null || Array.isArray(message))
      throw new Error('a message of another kind');
    if ('method' in message && 'id' in message && ++this.#waiting >= WAITING_MOST) this.#socket.pause();
    this.#callback(message as Message);
  }
}

/**
 * Writes messages to a control socket whose other side may be gone: whoever asks learns of that when it closes. The
 * library itself lets a request that could not be written end the process, since nobody can catch what it throws then.
 */
export class ControlWriter extends StreamMessageWriter {
  readonly #socket: Socket;
  readonly #reader: ControlReader;

  constructor(socket: Socket, reader: ControlReader) {
    super(socket);
    this.#socket = socket;
    this.#reader = reader;
  }

  override async write(message: Message): Promise<void> {
    try {
      await super.write(message);
    } catch {
      this.#socket.destroy();
    }
    if (!('method' in message)) this.#reader.answered();
  }
}
