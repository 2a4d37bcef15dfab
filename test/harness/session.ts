import { spawn } from 'node:child_process';
import type { Loopback } from './loopback.js';
import { contentText, type ModelRequest } from './messages-api.js';
import type { ModelStub, Script, ToolResult } from './model-stub.js';

/** Longest one session may take, in milliseconds. It takes two or three seconds, and more on a machine that is full. */
export const SESSION_TIMEOUT_MS = 180_000;

/** The Linux user a session runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** What has to be known to start Claude Code against the stub. */
export interface SessionSetting {
  readonly binary: string;
  readonly loopback: Loopback;
  readonly stub: ModelStub;
  readonly account: Account;
}

/** What starts the program in its place, such as `mend run`. */
export interface SessionLauncher {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Where one session runs. */
export interface SessionPlace {
  /** Becomes `HOME`. */
  readonly home: string;
  /** The working folder. */
  readonly folder: string;
  readonly launcher?: SessionLauncher;
}

/** A session that has ended well. */
export interface Session {
  /** All text that came with the first message of the user: what the program loaded by itself, then the prompt. */
  readonly opening: string;
  /** What each tool of the script reported, in order. */
  readonly results: readonly ToolResult[];
}

/** The command that starts `command` as the account. Only root can become another user. */
export function asAccount(account: Account, command: readonly string[]): string[] {
  if (process.getuid?.() === account.uid) return [...command];
  return ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--init-groups', ...command];
}

/** The environment in which the program reaches the stub and nobody else. */
export function environment(port: number, home: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: home,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
    ANTHROPIC_API_KEY: 'a-key-for-the-stub',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_TMPDIR: home,
    DISABLE_AUTOUPDATER: '1',
  };
}

interface Ended {
  readonly status: number | NodeJS.Signals | null;
  readonly output: string;
}

function runToEnd(argv: readonly string[], prompt: string, folder: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const [command, ...args] = argv;
  if (command === undefined) throw new Error('there is no command to run');
  return new Promise((resolve, reject) => {
    // A group of its own, so that the time-out also ends what the program started.
    const child = spawn(command, args, { cwd: folder, env, stdio: 'pipe', detached: true });
    const timer = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'), SESSION_TIMEOUT_MS);
    let output = '';
    const keep = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ status: code ?? signal, output });
    });
    child.stdin.on('error', reject);
    child.stdin.end(prompt);
  });
}

function openingOf(request: ModelRequest | undefined): string {
  const first = request?.messages.find((message) => message.role === 'user');
  return first ? contentText(first.content) : '';
}

/** Runs Claude Code once, with `script` as its model. Throws when either of them fails or the script was not finished. */
export async function runSession(setting: SessionSetting, place: SessionPlace, script: Script): Promise<Session> {
  const { binary, loopback, stub, account } = setting;
  const conversation = stub.converse(script);
  const { command: start = [binary], env = {} } = place.launcher ?? {};
  const command = loopback.enter(asAccount(account, [...start, '--print', '--output-format', 'json']));
  const prompt = `This is ${conversation.token}. Look after the notes.`;
  const ended = await runToEnd(command, prompt, place.folder, { ...environment(loopback.port, place.home), ...env });
  if (conversation.failure) throw conversation.failure;
  if (ended.status !== 0 || !conversation.finished) {
    throw new Error(`Claude Code ended with ${ended.status} before its script did: ${ended.output.slice(0, 2000)}`);
  }
  return { opening: openingOf(conversation.requests[0]), results: conversation.results };
}
