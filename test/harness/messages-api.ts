import type { ServerResponse } from 'node:http';

/** A piece of a message: text, a use of a tool, or its result. Other types pass unread. */
export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly tool_use_id?: string;
  readonly is_error?: boolean;
  readonly content?: Content;
}

export type Content = string | readonly Block[];

export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: Content;
}

/** The part of a `POST /v1/messages` body that is looked at here. */
export interface ModelRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly system?: Content;
  readonly messages: readonly Message[];
  readonly tools?: readonly unknown[];
}

/** What the model says: the use of one tool, or the text that ends its turn. */
export type Answer =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool'; readonly id: string; readonly name: string; readonly input: unknown };

/** All text of a message's content, results of tools included, one line break between blocks. */
export function contentText(content: Content): string {
  if (typeof content === 'string') return content;
  return content.map((block) => block.text ?? contentText(block.content ?? '')).join('\n');
}

/** The length of one streamed delta, in characters: small, so that a program has to join several. */
const DELTA_LENGTH = 48;

function* pieces(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += DELTA_LENGTH) yield text.slice(at, at + DELTA_LENGTH);
}

interface StreamEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

function* events(message: Record<string, unknown>, answer: Answer): Generator<StreamEvent> {
  yield { type: 'message_start', message: { ...message, content: [], stop_reason: null } };
  const isText = answer.kind === 'text';
  const start = isText ? { type: 'text', text: '' } : { type: 'tool_use', id: answer.id, name: answer.name, input: {} };
  yield { type: 'content_block_start', index: 0, content_block: start };
  for (const piece of pieces(isText ? answer.text : JSON.stringify(answer.input))) {
    const delta = isText ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece };
    yield { type: 'content_block_delta', index: 0, delta };
  }
  yield { type: 'content_block_stop', index: 0 };
  const { stop_reason, stop_sequence, usage } = message;
  yield { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage };
  yield { type: 'message_stop' };
}

let answered = 0;

/** Sends an answer in the form the request asks for: server-sent events, or one JSON document. */
export async function sendAnswer(response: ServerResponse, request: ModelRequest, answer: Answer): Promise<void> {
  answered += 1;
  const block =
    answer.kind === 'text'
      ? { type: 'text', text: answer.text }
      : { type: 'tool_use', id: answer.id, name: answer.name, input: answer.input };
  const message = {
    id: `msg_${answered}`,
    type: 'message',
    role: 'assistant',
    model: request.model,
    content: [block],
    stop_reason: answer.kind === 'text' ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  if (!request.stream) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(message));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const event of events(message, answer)) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}
