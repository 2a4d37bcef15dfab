import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { isSystemError } from '../../errors.js';
import type { ImportedFile } from '../../import/import-options.js';
import { printable } from '../../project/printable.js';
import { visible } from '../output.js';
import type { Account } from '../people/account.js';
import { type PersonProcess, startAs } from '../people/person-process.js';
import { frame, jsonFrame } from './frames.js';
import type { CreditAnswer, CreditRequest } from './messages.js';
import type { OpenReading } from './open-reading.js';

const RECEIVE = fileURLToPath(new URL('./receive.js', import.meta.url));

/** A person who gets memory. */
export interface Receiver {
  /** Undefined when it is whoever runs this. */
  readonly user: Account | undefined;
  readonly store: string | undefined;
}

/** What became of a reading that was handed over. */
export interface HandedOver {
  /** Files of the reading that the person has now, or had already: SHA-256 by path. */
  readonly credited: ReadonlyMap<string, string>;
  readonly files: readonly ImportedFile[];
  /** How many were left out as another person has them. */
  readonly withheld: number;
  /** Why it was broken off; undefined when it was not. */
  readonly failure: string | undefined;
}

/** Longest time, in ms, in which the other process takes nothing and says nothing. */
const PATIENCE = 10 * 60_000;
/** UTF-16 units of a message of it that are shown. */
const MOST = 500;
/** UTF-16 units that it may say in a line. */
const LONGEST = 64 * 1024;

/**
 * Hands the files of a reading to a process of the person whom they are credited to. What that process says is taken for
 * no more than what it says: it belongs to that person.
 * @param isWithheld tells whether another person has that content of that path already
 */
export async function handOver(
  reading: OpenReading,
  receiver: Receiver,
  request: CreditRequest,
  isWithheld: (path: string, sha256: string) => boolean,
): Promise<HandedOver> {
  const { user, store } = receiver;
  const person = startAs(user, [RECEIVE], store === undefined ? {} : { MEND_STORE_DIR: store });
  const sent = new Map<string, string>();
  const withheld = new Set<string>();
  const listening = listen(person, request);
  const send = async (): Promise<void> => {
    await listening.write(jsonFrame(request));
    for (const path of request.files) {
      const found = reading.read(path);
      if ('reason' in found) await listening.write(jsonFrame({ path, reason: found.reason }));
      else {
        const sha256 = hash('sha256', found.bytes);
        if (isWithheld(path, sha256)) {
          withheld.add(path);
          await listening.write(jsonFrame({ path, reason: 'is credited to somebody else already' }));
          continue;
        }
        sent.set(path, sha256);
        await listening.write(jsonFrame({ path, mtime: found.mtime }));
        await listening.write(frame(found.bytes));
      }
    }
  };
  try {
    await send();
  } catch (error) {
    // It ended before it had read all: what it said tells why.
    if (!isSystemError(error, 'EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED')) {
      person.kill();
      throw error;
    }
  }
  const { answers, failure } = await listening.end();
  const files = answers.filter(({ path }) => !withheld.has(path));
  const credited = new Map(
    files.flatMap(({ path, outcome }) => {
      const sha256 = sent.get(path);
      return outcome === 'skipped' || sha256 === undefined ? [] : [[path, sha256] as const];
    }),
  );
  return { credited, files, withheld: withheld.size, failure };
}

/** Listens to the process, and ends it when it stalls or says what it has no reason to say. */
function listen({ child, kill }: PersonProcess, { files, skipped }: CreditRequest) {
  const known = new Set([...files, ...skipped.map(({ path }) => path)]);
  const answers = new Map<string, ImportedFile>();
  let end: { readonly failure: string | undefined } | undefined;
  let complaint = '';
  let rest = '';
  let said = 0;
  const giveUp = (failure: string): void => {
    end = { failure };
    kill();
  };
  const idle = setTimeout(
    () => giveUp('it did nothing for ten minutes and was ended: run the command again'),
    PATIENCE,
  );
  const take = (line: string): void => {
    const answer = parse(line);
    if (answer?.kind === 'file' && known.has(answer.file.path)) answers.set(answer.file.path, answer.file);
    else if (answer?.kind === 'done') end ??= { failure: undefined };
    else if (answer?.kind === 'failed') end ??= { failure: answer.message };
  };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    idle.refresh();
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
    said += lines.length;
    if (rest.length > LONGEST || said > known.size + 1)
      giveUp('it said what is not of mend and was ended: look into what that user runs');
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    complaint = (complaint + chunk).slice(-LONGEST);
  });
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      end ??= { failure: `it could not be started (${error.message}): try again` };
      resolve();
    });
    child.once('close', () => resolve());
  });
  // Whoever writes is told, below.
  child.stdin.on('error', () => undefined);
  return {
    write: async (bytes: Buffer): Promise<void> => {
      await new Promise<void>((resolve, reject) => {
        child.stdin.write(bytes, (error) => (error ? reject(error) : resolve()));
      });
      idle.refresh();
    },
    end: async (): Promise<{ readonly answers: ImportedFile[]; readonly failure: string | undefined }> => {
      child.stdin.end();
      await ended;
      clearTimeout(idle);
      // Where it said nothing, what the engine complained of tells why.
      const lines = complaint.trim().split('\n');
      const why = lines.find((line) => /^\w*Error\b/.test(line)) ?? (lines.at(-1) || 'it did not say why');
      const { failure } = end ?? { failure: `it ended before it was done (${why}): run the command again` };
      return { answers: [...answers.values()], failure: failure === undefined ? undefined : shown(failure) };
    },
  };
}

/** One line, if it is what it has to be. */
function parse(line: string): CreditAnswer | undefined {
  try {
    const value = JSON.parse(line) as Partial<Record<string, unknown>>;
    if (value['kind'] === 'done') return { kind: 'done' };
    if (value['kind'] === 'failed') return { kind: 'failed', message: String(value['message']) };
    const file = value['file'] as Partial<Record<keyof ImportedFile, unknown>>;
    const { path, outcome, linesLost, reason } = file;
    if (typeof path !== 'string' || !isOutcome(outcome) || typeof linesLost !== 'number') return undefined;
    return { kind: 'file', file: { path, outcome, linesLost, reason: reason === null ? null : shown(String(reason)) } };
  } catch {
    // It is not of mend: the person's other processes may have put themselves in its place.
    return undefined;
  }
}

/** What another's process says, for a terminal. */
function shown(text: string): string {
  return visible(printable(text)).slice(0, MOST);
}

function isOutcome(value: unknown): value is ImportedFile['outcome'] {
  return OUTCOMES.some((outcome) => outcome === value);
}

const OUTCOMES: readonly ImportedFile['outcome'][] = [
  ...(['added', 'updated', 'merged', 'kept', 'not added', 'conflict', 'skipped', 'same'] as const),
];
