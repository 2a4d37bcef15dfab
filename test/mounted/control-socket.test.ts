import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { shortPath } from '../../src/daemon/runtime-files.js';
import { isRoot, throwAwayUser } from '../support/users.js';
import { type Stage, staged, until } from './stage.js';
import { runFolder } from './with-store.js';

const MB = 1024 * 1024;
/** What a process may grow by, in bytes, while somebody tries to make it grow. */
const SLACK = 60 * MB;

const frame = (text: string): string => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
const request = (method: string, params: unknown = null, id = 1): string =>
  frame(JSON.stringify({ jsonrpc: '2.0', id, method, params }));

/** Bytes of memory that a process has. */
function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024;
}

const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** A connection to the daemon's socket, and whether its other end is closed. */
async function dial(stage: Stage): Promise<Socket & { isOver?: boolean }> {
  const [name = ''] = readdirSync(runFolder(stage)).filter((each) => each.endsWith('.sock'));
  const short = shortPath(runFolder(stage), name);
  try {
    for (;;) {
      const socket: Socket & { isOver?: boolean } = connect(short.path);
      socket.on('close', () => {
        socket.isOver = true;
      });
      const refused = await new Promise<NodeJS.ErrnoException | undefined>((resolve) =>
        socket.once('connect', () => resolve(undefined)).on('error', resolve),
      );
      if (refused === undefined) return socket;
      // As many wait to be taken as can.
      if (refused.code !== 'EAGAIN') throw refused;
      await delay(20);
    }
  } finally {
    short.close();
  }
}

async function expectUnmoved(stage: Stage, folder: string, pid: number): Promise<void> {
  expect((await stage.status()).pid).toBe(pid);
  expect(await stage.sh('cat "$1/note.md"; echo more >>"$1/note.md"; wc -l <"$1/note.md"', folder)).toMatch(/^note\n/);
}

async function served(stage: Stage): Promise<{ folder: string; pid: number }> {
  const folder = await stage.mount();
  await stage.sh('echo note >"$1/note.md"', folder);
  const { pid } = await stage.status();
  return { folder, pid: pid ?? 0 };
}

/** Messages that end the connection they came through. */
const broken: Readonly<Record<string, string | Buffer>> = {
  'bytes of no kind': Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919) % 256)),
  'a web request': 'GET /status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}',
  'half of JSON': frame('{"jsonrpc":"2.0","id":1,"method":"sta'),
  'JSON of another kind': frame('null'),
  'a list': frame('[{"jsonrpc":"2.0","id":1,"method":"status"}]'),
  'a length below zero': 'Content-Length: -5\r\n\r\n{"jsonrpc"',
  'a length without end': 'Content-Length: 99999999999999999999\r\n\r\n{',
  'a length over the most': `Content-Length: ${MB + 1}\r\n\r\n{`,
  'JSON so deep that nobody can take it': frame(`${'['.repeat(400_000)}${']'.repeat(400_000)}`),
};

/** Messages that are answered, or not, and change nothing. */
const odd: readonly string[] = [
  request('shutdown'),
  request('__proto__'),
  request('constructor'),
  request('mount', { __proto__: { path: '/etc' } }),
  request('mount', JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')),
  request('mount', { project: 'x', harness: 5, path: null, checkout: [] }),
  request('mount', { project: 1, harness: 'nobody', path: 'relative/../..', checkout: '' }),
  request('unmount', { paths: 5, force: 'yes' }),
  request('unmount', { paths: ['/etc', ''], force: false }),
  request('status', [1, 2, 3]),
  frame('{}'),
  frame('{"jsonrpc":"2.0","id":{"a":1},"method":"status","params":null}'),
  frame('{"jsonrpc":"2.0","id":7,"result":{"polluted":true}}'),
  frame('{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"none"}}'),
];

describe('the control socket', () => {
  test(
    'what is no message ends its connection, and what asks for nothing known is refused',
    staged(120, async (stage) => {
      const { folder, pid } = await served(stage);
      for (const [what, bytes] of Object.entries(broken)) {
        const socket = await dial(stage);
        socket.write(bytes);
        await until(() => socket.isOver === true, `the connection with ${what} to end`);
      }
      for (const text of odd) {
        const socket = await dial(stage);
        socket.write(text);
        socket.write(request('status', null, 99));
        let answers = '';
        socket.on('data', (bytes: Buffer) => {
          answers += bytes.toString();
        });
        await until(() => answers.includes('"id":99') || socket.isOver === true, `an answer after ${text}`);
        expect(answers).toContain('"id":99');
        expect(answers).not.toContain('polluted');
        socket.destroy();
      }
      await expectUnmoved(stage, folder, pid);
    }),
    180_000,
  );

  test(
    'who sends without end, or asks without reading, makes nobody grow; 1,000 idle ones keep nobody out',
    staged(180, async (stage) => {
      const { folder, pid } = await served(stage);
      const before = memoryOf(pid);
      const endless = await dial(stage);
      const flood = Buffer.alloc(MB, 'x');
      for (let sent = 0; sent < 100 && !endless.isOver; sent++)
        await new Promise((resolve) => endless.write(flood, resolve));
      await until(() => endless.isOver === true, 'the connection to end');
      expect(memoryOf(pid) - before).toBeLessThan(SLACK);

      const deaf = await dial(stage);
      deaf.pause();
      const questions = request('status').repeat(10_000);
      // More than two sockets hold: the rest waits with who asks.
      const sent = new Promise((resolve) => deaf.write(questions, resolve));
      const stuck = await Promise.race([sent.then(() => false), delay(3000).then(() => true)]);
      expect(stuck).toBe(true);
      expect(memoryOf(pid) - before).toBeLessThan(SLACK);
      await expectUnmoved(stage, folder, pid);
      deaf.destroy();

      const descriptors = descriptorsOf(pid);
      const idle: Socket[] = [];
      // No more at once than a socket lets wait to be taken.
      while (idle.length < 1000) idle.push(...(await Promise.all(Array.from({ length: 100 }, () => dial(stage)))));
      await until(() => descriptorsOf(pid) >= descriptors + 990, 'the connections to be taken');
      await expectUnmoved(stage, folder, pid);
      expect(memoryOf(pid) - before).toBeLessThan(SLACK);
      for (const socket of idle) socket.destroy();
      await until(() => descriptorsOf(pid) <= descriptors + 5, 'the connections to be let go');
    }),
    240_000,
  );

  test.runIf(isRoot)(
    'another user cannot reach it, whatever the modes of the home say',
    staged(80, async (stage) => {
      const { folder, pid } = await served(stage);
      await stage.sh('chmod 755 "$HOME"');
      const [name = ''] = readdirSync(runFolder(stage)).filter((each) => each.endsWith('.sock'));
      const script = `require('net').connect(process.argv[1])
        .on('connect', () => console.log('connected')).on('error', (error) => console.log(error.code))`;
      const stranger = throwAwayUser();
      try {
        const path = join(runFolder(stage), name);
        const attempt = await stranger.run([process.execPath, '-e', script, path], { cwd: '/' });
        expect(attempt).toMatchObject({ code: 0, stdout: 'EACCES\n' });
      } finally {
        await stranger.remove();
      }
      await expectUnmoved(stage, folder, pid);
    }),
    140_000,
  );
});

/** What can lie in the place of something of the daemon's, and what is said of it; nothing where it is replaced. */
const inTheWay: readonly [what: string, where: string, make: string, sentence: RegExp | undefined][] = [
  ['a dead socket', 'socket', 'perl -MIO::Socket::UNIX -e "IO::Socket::UNIX->new(Local => shift)" "$1"', undefined],
  ['a link to a file', 'socket', 'ln -s "$2" "$1"', undefined],
  ['a folder', 'socket', 'mkdir "$1"', /\.sock is a folder: remove it, and mend makes it anew/],
  ['a link to a file', 'lock', 'ln -s "$2" "$1"', /\.lock is not a regular file: remove it/],
  ['a pipe', 'lock', 'mkfifo "$1"', /\.lock is not a regular file: remove it/],
  ['a link to a file', 'journal.new', 'ln -s "$2" "$1"', /journal\.new is not a regular file: remove it/],
  ['a pipe', 'log', 'mkfifo "$1"', /daemon\.log is not a regular file: remove it/],
  ['a link to a folder', 'run', 'mkdir "$1.elsewhere"; ln -s "$1.elsewhere" "$1"', /run is not a folder: remove it/],
];

describe('in the place of what a daemon makes for itself', () => {
  test(
    'a leftover is replaced, and anything else is named; nothing is followed, and the mount comes up once it is gone',
    staged(300, async (stage) => {
      await stage.mount();
      const [socket = ''] = readdirSync(runFolder(stage)).filter((each) => each.endsWith('.sock'));
      const owner = socket.replace('.sock', '');
      await stage.mend(['unmount', '--all']);
      await until(async () => (await stage.status()).pid === null, 'the daemon to end');
      const places: Record<string, string> = {
        ...{ socket: join(runFolder(stage), socket), lock: join(runFolder(stage), `${owner}.lock`) },
        ...{ 'journal.new': join(runFolder(stage), `${owner}.journal.new`), log: join(stage.store, 'daemon.log') },
        run: runFolder(stage),
      };
      const victim = join(stage.user.home, 'victim');
      await stage.sh('echo precious >"$1"; chmod 600 "$1"', victim);
      for (const [what, where, make, sentence] of inTheWay) {
        const place = places[where] ?? '';
        await stage.sh('rm -rf "$1"', place);
        await stage.sh(make, place, victim);
        const result = await stage.mend(['mount'], { status: sentence ? 1 : 0 });
        const label = `${what} in the place of ${where}: ${result.stderr}`;
        if (sentence) {
          expect(result.stderr, label).toMatch(sentence);
          expect(result.stderr.trimEnd().split('\n'), label).toHaveLength(1);
          await stage.sh('rm -rf "$1" "$1.elsewhere"', place);
        } else {
          await stage.mend(['unmount', '--all']);
          await until(async () => (await stage.status()).pid === null, 'the daemon to end');
        }
        expect(await stage.sh('cat "$1"; stat -c %a "$1"', victim), label).toBe('precious\n600\n');
      }
      await stage.mount();
    }),
    360_000,
  );
});
