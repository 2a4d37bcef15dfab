import { constants } from 'node:os';
import { isSystemError } from '../errors.js';
import { type GroupSignals, statFields } from './group-signals.js';

/** What reaches the program once, whoever sent it. Other signals end or stop this process, as they would the program. */
const PASSED_ON = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGQUIT', 'SIGWINCH', 'SIGTSTP'] as const;
/** Time, in ms, for what stopped the program and what goes on with it to come to rest, and for a signal to reach all of a group. */
const SETTLE = 20;

/**
 * Stands for a program in the eyes of the shell: signals reach the program once, and this process stops with it and goes
 * on with it. Never touches the terminal.
 * @param changed called when a child of this process ended, stopped or went on
 */
export function followSignals(pid: () => number | undefined, group: GroupSignals, changed: () => void): void {
  const waiting = new Set<NodeJS.Signals>();
  const settle = (): void => {
    const sent = group.take();
    const child = pid();
    // A program that made a group of its own got nothing of what was sent to this one.
    if (child !== undefined)
      for (const signal of waiting)
        if (!sent.has(constants.signals[signal]) || groupOf(child) !== groupOf('self')) send(child, signal);
    waiting.clear();
  };
  const pass = (signal: NodeJS.Signals): void => {
    if (waiting.size === 0) setTimeout(settle, SETTLE);
    waiting.add(signal);
  };
  for (const signal of PASSED_ON) process.on(signal, pass);
  process.on('SIGCONT', () => {
    const child = pid();
    if (child !== undefined && stateOf(child) === STOPPED) send(child, 'SIGCONT');
  });
  process.on('SIGCHLD', () => {
    changed();
    setTimeout(() => {
      const child = pid();
      if (child === undefined || stateOf(child) !== STOPPED) return;
      // Nothing happens where there is no shell that could go on with it: the group is orphaned then (setpgid(2)).
      process.off('SIGTSTP', pass);
      process.kill(process.pid, 'SIGTSTP');
      process.on('SIGTSTP', pass);
    }, SETTLE);
  });
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!isSystemError(error, 'ESRCH', 'EPERM')) throw error;
  }
}

const STOPPED = 'T';

function stateOf(pid: number): string | undefined {
  return statFields(pid)[0];
}

function groupOf(pid: number | 'self'): string | undefined {
  return statFields(pid)[2];
}
