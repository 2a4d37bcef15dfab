import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { type Answer, contentText, type Message, type ModelRequest, sendAnswer } from './messages-api.js';

/** One use of a tool that the model asks for. */
export interface ToolCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** What the program told the model about one use of a tool. */
export interface ToolResult {
  readonly failed: boolean;
  readonly text: string;
}

/** A model for one conversation: yields the tools it wants used, is given each result, and returns its last words. */
export type Script = () => AsyncGenerator<ToolCall, string, ToolResult>;

/** One conversation between the program and a script. */
export interface Conversation {
  /** Must stand in the prompt: it is how the stub knows whose request it is looking at. */
  readonly token: string;
  /** The requests the script answered, in order of arrival. */
  readonly requests: readonly ModelRequest[];
  /** What each tool reported, in order. */
  readonly results: readonly ToolResult[];
  /** True once the script has returned. */
  readonly finished: boolean;
  /** What the script threw, if it did. */
  readonly failure: unknown;
}

function findResult(messages: readonly Message[], id: string): ToolResult {
  for (const { content } of messages) {
    if (typeof content === 'string') continue;
    for (const block of content) {
      if (block.type === 'tool_result' && block.tool_use_id === id) {
        return { failed: block.is_error === true, text: contentText(block.content ?? '') };
      }
    }
  }
  throw new Error('the program went on without the result of a tool');
}

class ScriptedConversation implements Conversation {
  readonly token = `conversation-${randomBytes(8).toString('hex')}`;
  readonly requests: ModelRequest[] = [];
  readonly results: ToolResult[] = [];
  finished = false;
  failure: unknown;
  readonly #idPrefix = `toolu_${randomBytes(8).toString('hex')}_`;
  readonly #model: AsyncGenerator<ToolCall, string, ToolResult>;
  /** Answers given, by turn: a request that is sent again gets the same one, and the script does not move. */
  readonly #answers: Promise<Answer>[] = [];

  constructor(script: Script) {
    this.#model = script();
  }

  answer(request: ModelRequest): Promise<Answer> {
    this.requests.push(request);
    const turn = request.messages.filter((message) => message.role === 'assistant' && this.#asked(message)).length;
    const answer = this.#answers[turn] ?? this.#advance(request, turn);
    this.#answers[turn] = answer;
    return answer;
  }

  #asked({ content }: Message): boolean {
    if (typeof content === 'string') return false;
    return content.some((block) => block.type === 'tool_use' && block.id?.startsWith(this.#idPrefix));
  }

  async #advance(request: ModelRequest, turn: number): Promise<Answer> {
    try {
      if (turn > 0) this.results.push(findResult(request.messages, `${this.#idPrefix}${turn - 1}`));
      // A generator ignores what its first `next` is given: there is no result before the first call.
      const step = await this.#model.next(this.results.at(-1) ?? { failed: false, text: '' });
      if (step.done) {
        this.finished = true;
        return { kind: 'text', text: step.value };
      }
      return { kind: 'tool', id: `${this.#idPrefix}${turn}`, name: step.value.tool, input: step.value.input };
    } catch (error) {
      this.failure = error;
      return { kind: 'text', text: 'The script failed.' };
    }
  }
}

/** A server that speaks enough of the Messages API to be the model of scripted conversations. */
export class ModelStub {
  readonly #conversations = new Map<string, ScriptedConversation>();
  readonly #sockets = new Set<Socket>();
  readonly #listener: Server;

  /** Serves the connections that arrive at `listener`. */
  constructor(listener: Server) {
    this.#listener = listener;
    const http = createServer((request, response) => {
      this.#serve(request, response).catch((error: Error) => response.destroy(error));
    });
    listener.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      http.emit('connection', socket);
    });
  }

  /** Prepares a conversation; it starts when a request with its token arrives. */
  converse(script: Script): Conversation {
    const conversation = new ScriptedConversation(script);
    this.#conversations.set(conversation.token, conversation);
    return conversation;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#listener.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?')[0];
    const body = await readAll(request);
    if (request.method !== 'POST' || path !== '/v1/messages') {
      response.writeHead(404, { 'content-type': 'application/json' });
      const error = { type: 'not_found_error', message: 'only /v1/messages is served here' };
      response.end(JSON.stringify({ type: 'error', error }));
      return;
    }
    const question = JSON.parse(body) as ModelRequest;
    await sendAnswer(response, question, await this.#answer(question));
  }

  async #answer(request: ModelRequest): Promise<Answer> {
    // Requests without tools are the program's own errands, such as naming a session.
    if (request.tools?.length) {
      const asked = request.messages.filter((message) => message.role === 'user').map((m) => contentText(m.content));
      for (const [token, conversation] of this.#conversations) {
        if (asked.some((text) => text.includes(token))) return conversation.answer(request);
      }
    }
    return { kind: 'text', text: 'Noted.' };
  }
}
