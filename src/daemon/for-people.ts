import { ResponseError } from 'vscode-jsonrpc/node.js';
import { MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import { FOR_PEOPLE } from './control-protocol.js';

/** Turns an error for people into an answer that carries its sentence; any other is a fault of ours and is logged. */
export async function forPeople<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof MendError) throw new ResponseError(FOR_PEOPLE, error.message);
    log('error', 'request failed', { error: describeError(error) });
    throw new ResponseError(
      FOR_PEOPLE,
      `the daemon failed: ${error instanceof Error ? error.message : String(error)}; see daemon.log in the store's folder`,
    );
  }
}
