import { Worker } from 'node:worker_threads';
import { isSystemError, MendError } from '../errors.js';
import { log } from '../log.js';
import { NOT_SCANNED, type ScanAnswer, type ScanRequest, type SecretFinding } from './secret-messages.js';

export { NOT_SCANNED, type SecretFinding } from './secret-messages.js';

/** Time, in ms, that one file may take: a megabyte of notes takes a tenth of a second, one made to be slow under two. */
const LIMIT = 10_000;
/** In how many steps the time is counted. Steps that a stopped process misses do not count. */
const STEPS = 20;
/** Bytes of heap, in MB, that the thread may use. */
const HEAP = 512;

interface Job {
  readonly id: number;
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly resolve: (findings: readonly SecretFinding[]) => void;
  readonly reject: (error: MendError) => void;
}

/**
 * Looks for likely secrets on a thread of its own, which starts with the first file and does not keep the process alive.
 * Nothing that was found leaves the thread but its kind and place.
 */
export class SecretScanner {
  readonly #limit: number;
  /** Files to be scanned; the first of them is under way. */
  #jobs: Job[] = [];
  #worker: Worker | undefined;
  /** The thread has loaded the rules: when it breaks off now, a file is to blame. */
  #ready = false;
  #clock: NodeJS.Timeout | undefined;
  #last = 0;

  constructor(options: { /** ms that one file may take */ readonly limit?: number } = {}) {
    this.#limit = options.limit ?? LIMIT;
  }

  /**
   * Likely secrets by line, each rule once a line, a hundred at most. A file that takes too long, or that a rule fails
   * on, has one finding `NOT_SCANNED` on line 1, so that nobody takes it for a clean one.
   * @throws {MendError} when the scanner does not start, or is closed meanwhile.
   */
  scan(path: string, bytes: Buffer): Promise<readonly SecretFinding[]> {
    return new Promise((resolve, reject) => {
      this.#jobs.push({ id: ++this.#last, path, bytes: new Uint8Array(bytes), resolve, reject });
      if (this.#jobs.length === 1) this.#send();
    });
  }

  /** Ends the thread; scans under way reject. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#end(new MendError('the scan for secrets was ended'));
    await worker?.terminate();
  }

  /** Hands the first file to the thread. */
  #send(): void {
    const [job] = this.#jobs;
    clearInterval(this.#clock);
    if (!job) {
      this.#worker?.unref();
      return;
    }
    let worker: Worker;
    try {
      worker = this.#thread();
    } catch (error) {
      this.#end(doesNotStart(codeOf(error)));
      return;
    }
    worker.ref();
    worker.postMessage({ id: job.id, bytes: job.bytes } satisfies ScanRequest, [job.bytes.buffer]);
    let left = STEPS;
    this.#clock = setInterval(() => {
      // Time that the thread takes to start is not the file's.
      if (this.#ready && left-- === 0) this.#giveUp(worker);
    }, this.#limit / STEPS);
    this.#clock.unref();
  }

  #thread(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(new URL('./secret-worker.js', import.meta.url), {
      // Neither options of Node.js for this process, nor output that a rule may make of what it reads: it is left
      // unread, since reading it would keep the process alive.
      ...{ env: {}, execArgv: [], stdout: true, stderr: true },
      resourceLimits: { maxOldGenerationSizeMb: HEAP },
    });
    worker.on('message', (answer: ScanAnswer | 'ready') => {
      if (this.#worker !== worker) return;
      if (answer === 'ready') this.#ready = true;
      else this.#answer(answer.id, answer.findings);
    });
    let reason = 'it ended';
    // The message of an error may quote what was read.
    worker.on('error', (error) => {
      reason = codeOf(error);
    });
    worker.on('exit', () => {
      if (this.#worker !== worker) return;
      if (this.#ready) this.#giveUp(worker);
      else this.#end(doesNotStart(reason));
    });
    this.#worker = worker;
    return worker;
  }

  #answer(id: number, findings: readonly SecretFinding[] | undefined): void {
    const [job] = this.#jobs;
    if (job?.id !== id) return;
    if (!findings) log('debug', 'a file was not scanned for secrets', { path: job.path });
    job.resolve(findings ?? [{ rule: NOT_SCANNED, line: 1 }]);
    this.#jobs.shift();
    this.#send();
  }

  /** Ends a thread that the first file was too much for; the next file gets a new one. */
  #giveUp(worker: Worker): void {
    this.#forget();
    worker.terminate().catch(() => undefined);
    const [job] = this.#jobs;
    if (job) this.#answer(job.id, undefined);
  }

  #end(error: MendError): void {
    this.#forget();
    for (const { reject } of this.#jobs.splice(0)) reject(error);
  }

  #forget(): void {
    clearInterval(this.#clock);
    this.#worker = undefined;
    this.#ready = false;
  }
}

function doesNotStart(reason: string): MendError {
  return new MendError(`the scanner for secrets does not start (${reason}): install mend again`);
}

function codeOf(error: unknown): string {
  return isSystemError(error) ? String(error.code) : 'it failed';
}
