// @ts-check
// A program for the terminal that a test starts with `mend run`; its first argument says what it does.
import { spawnSync } from 'node:child_process';

const say = (/** @type {string} */ text) => process.stdout.write(`${text}\r\n`);
/** Time in ms in which a signal that comes twice has come twice. */
const TWICE = 400;

/** @param {NodeJS.Signals} signal */
function count(signal) {
  let times = 0;
  process.on(signal, () => {
    if (++times === 1) {
      setTimeout(() => {
        say(`${signal} came ${times} times`);
        process.exit(5);
      }, TWICE);
    }
  });
  process.stdin.resume();
  // In the background it may have no input that keeps it.
  setInterval(() => undefined, TWICE);
}

/** As programs that take the whole terminal do: Ctrl-Z is a key, and they stop themselves. */
function takeTerminal() {
  process.stdin.setRawMode(true);
  process.stdin.on('data', (keys) => {
    if (String(keys) === '\x1a') {
      process.stdin.setRawMode(false);
      process.kill(process.pid, 'SIGSTOP');
    } else if (String(keys) === 'q') {
      process.stdin.setRawMode(false);
      process.exit(0);
    } else say(`key ${keys}`);
  });
  process.on('SIGCONT', () => {
    process.stdin.setRawMode(true);
    say('back again');
  });
}

const [, , mode, ...rest] = process.argv;
if (mode === 'count') count(/** @type {NodeJS.Signals} */ (rest[0]));
else if (mode === 'window') {
  count('SIGWINCH');
  spawnSync('stty', ['cols', '77'], { stdio: 'inherit' });
} else if (mode === 'raw') takeTerminal();
say('it runs');
