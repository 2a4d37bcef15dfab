import { parentPort } from 'node:worker_threads';
import { describeError, log } from '../log.js';
import { isDiskFull } from '../store/open-database.js';
import type { ServerMessage, ServerRequest } from './messages.js';
import { MountServer } from './server.js';

/** The serving thread's end of the messages that it and the main thread exchange; the first one starts it. */
function serve(): void {
  const port = parentPort;
  if (!port) return;
  const send = (message: ServerMessage): void => port.postMessage(message);
  let server: MountServer | undefined;
  const handle = async (request: ServerRequest): Promise<unknown> => {
    if (request.kind === 'start') {
      server = new MountServer(request.data, send);
      return undefined;
    }
    return server?.handle(request);
  };
  port.on('message', (request: ServerRequest) => {
    handle(request).then(
      (value) => send({ kind: 'answer', id: request.id, value: request.kind === 'catchUp' ? undefined : value }),
      (error: unknown) => {
        log('error', 'request of the main thread failed', { kind: request.kind, error: describeError(error) });
        const code = isDiskFull(error) ? { code: 'ENOSPC' } : {};
        send({
          kind: 'answer',
          id: request.id,
          error: error instanceof Error ? error.message : String(error),
          ...code,
        });
      },
    );
  });
  send({ kind: 'loaded' });
}

serve();
