import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly turn?: { readonly status?: string } };
  readonly result?: unknown;
  readonly error?: { readonly message?: string };
}

/** A Codex that is driven over its standard input and output, as editors do (`codex app-server`, JSON-RPC). */
export class CodexSession {
  readonly #child: ChildProcess;
  readonly #messages: Message[] = [];
  #last = 0;
  #errors = '';

  /** @param command starts the server */
  constructor(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
    const [program = '', ...args] = command;
    this.#child = spawn(program, args, { cwd, env, stdio: 'pipe' });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#errors = `${this.#errors}${chunk}`.slice(-4000);
    });
    if (this.#child.stdout)
      createInterface(this.#child.stdout).on('line', (line) => this.#messages.push(JSON.parse(line) as Message));
  }

  /** Begins a conversation in the working folder and has one turn of it. @returns how the turn ended */
  async turn(cwd: string): Promise<string | undefined> {
    await this.#call('initialize', {
      clientInfo: { name: 'test', title: 'test', version: '0' },
      capabilities: { experimentalApi: true },
    });
    this.#send({ method: 'initialized' });
    const started = (await this.#call('thread/start', { cwd })) as { readonly thread: { readonly id: string } };
    const input = [{ type: 'text', text: 'How are the beans?' }];
    await this.#call('turn/start', { threadId: started.thread.id, input });
    const ended = await this.#find(({ method }) => method === 'turn/completed');
    return ended.params?.turn?.status;
  }

  /** The conversations that Codex lists for a folder: their ids. */
  async listed(cwd: string): Promise<string[]> {
    const { data } = (await this.#call('thread/list', { cwd, limit: 50 })) as {
      readonly data: { readonly id: string }[];
    };
    return data.map(({ id }) => id);
  }

  /** Ends it. @returns its exit status */
  async end(): Promise<number | null> {
    this.#child.stdin?.end();
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
    return this.#child.exitCode;
  }

  kill(): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
  }

  #send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  async #call(method: string, params: object): Promise<unknown> {
    const id = ++this.#last;
    this.#send({ id, method, params });
    const answer = await this.#find((message) => message.id === id && ('result' in message || 'error' in message));
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  }

  async #find(wanted: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.#messages.find(wanted);
      if (found) return found;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null)
        throw new Error(`Codex ended before it answered: ${this.#errors}`);
      await delay(50);
    }
  }
}
