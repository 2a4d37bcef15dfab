import { createServer, type IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';

/** Which part of Codex asks: a turn of a conversation, the summing up of one, or the consolidation of all summaries. */
export type Asker = 'turn' | 'summary' | 'consolidation';

/** A request, as far as it is looked at. */
interface ResponsesRequest {
  readonly instructions?: string;
  readonly input?: readonly Item[];
  readonly text?: unknown;
  readonly tools?: readonly { readonly name?: string }[];
}

interface Item {
  readonly type?: string;
  readonly role?: string;
  readonly content?: string | readonly { readonly text?: string }[];
}

/** A request that was answered. */
export interface Asked {
  readonly asker: Asker;
  /** All text in it. */
  readonly text: string;
}

/** Words that the consolidation writes, and that the next session is to be given. */
export const MARKER = 'The gardener likes short answers.';

/** The files of a consolidation, with the headings that Codex asks for. */
const INDEX = `# Task Group: garden
scope: watering the beds
applies_to: cwd=/garden; reuse_rule=none

## Task 1: water a bed

### rollout_summary_files

- see rollout_summaries/

### keywords

- water
`;
const SUMMARY = `v1

## User Profile

${MARKER}

## User preferences

- short answers

## General Tips

- none

## What's in Memory

### garden

- water: see MEMORY.md
`;
const SKILL = '---\nname: water\ndescription: how to water\n---\nTwice a day.\n';

/** What the model has the consolidation do, as a shell command in the memory folder. */
const CONSOLIDATE = `set -e
mkdir -p skills/water
${Object.entries({ 'MEMORY.md': INDEX, 'memory_summary.md': SUMMARY, 'skills/water/SKILL.md': SKILL })
  .map(([file, text]) => `cat > ${file} <<'END'\n${text}END`)
  .join('\n')}
ls -A`;

/** A server that speaks enough of the Responses API to be the model of Codex. */
export class ResponsesStub {
  readonly asked: Asked[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #listener: Server;
  #last = 0;

  /** Serves the connections that arrive at `listener`. */
  constructor(listener: Server) {
    this.#listener = listener;
    const http = createServer((request, response) => {
      readAll(request).then(
        (body) => {
          if (request.method !== 'POST' || !request.url?.split('?')[0]?.endsWith('/responses')) {
            response.writeHead(request.method === 'GET' ? 200 : 404, { 'content-type': 'application/json' });
            response.end(request.method === 'GET' ? '{"models":[]}' : '{}');
            return;
          }
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.end(this.#answer(JSON.parse(body) as ResponsesRequest));
        },
        (error: Error) => response.destroy(error),
      );
    });
    listener.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      http.emit('connection', socket);
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#listener.close(() => resolve()));
  }

  #answer(request: ResponsesRequest): string {
    const text = [request.instructions ?? '', ...(request.input ?? []).map(textOf)].join('\n');
    const asker = /rollout_summary/.test(JSON.stringify(request.text ?? {}))
      ? 'summary'
      : /phase2_workspace_diff/.test(text)
        ? 'consolidation'
        : 'turn';
    this.asked.push({ asker, text });
    const id = `answer_${++this.#last}`;
    const item = { id, ...this.#item(asker, request) };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const events = [
      { type: 'response.created', response: { id } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id, usage } },
    ];
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  }

  #item(asker: Asker, request: ResponsesRequest): object {
    const say = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });
    if (asker === 'summary') {
      // Version 1 asks for notes besides.
      const notes = JSON.stringify(request.text).includes('raw_memory') ? { raw_memory: 'short answers' } : {};
      return say(JSON.stringify({ ...notes, rollout_summary: '# A talk', rollout_slug: 'a_talk' }));
    }
    const isDone = request.input?.at(-1)?.type?.endsWith('_output');
    if (asker === 'turn' || isDone) return say('Done.');
    const call_id = `call_${this.#last}`;
    const command = { cmd: CONSOLIDATE, yield_time_ms: 20_000 };
    const has = (name: string): boolean => JSON.stringify(request).includes(`"name":"${name}"`);
    if (has('exec_command'))
      return { type: 'function_call', call_id, name: 'exec_command', arguments: JSON.stringify(command) };
    const script = `const r = await tools.exec_command(${JSON.stringify(command)}); text(r);`;
    return { type: 'custom_tool_call', call_id, name: 'exec', input: script };
  }
}

function textOf({ content }: Item): string {
  if (content === undefined || typeof content === 'string') return content ?? '';
  return content.map((part) => part.text ?? '').join('\n');
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
