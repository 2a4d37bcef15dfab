import { readFileSync } from 'node:fs';
import { isSystemError } from '../errors.js';

/** What is passed on to the program whenever it comes. Others end or stop this process, as they would end the program. */
const PASSED_ON = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;
/** What a terminal sends to the whole group in its foreground, so that the program has it too. */
const OF_TERMINAL = ['SIGINT', 'SIGQUIT', 'SIGWINCH', 'SIGTSTP'] as const;
/** Time, in ms, for what stopped the program and what goes on with it to come to rest. */
const SETTLE = 20;

/**
 * Stands for a program in the eyes of the shell: signals reach the program once, and this process stops with it and goes
 * on with it. Never touches the terminal.
 * @param changed called when a child of this process ended, stopped or went on
 */
export function followSignals(pid: () => number | undefined, changed: () => void): void {
  const pass = (signal: NodeJS.Signals): void => {
    const child = pid();
    if (child !== undefined) send(child, signal);
  };
  const passUnlessSent = (signal: NodeJS.Signals): void => {
    if (!inForeground()) pass(signal);
  };
  for (const signal of PASSED_ON) process.on(signal, pass);
  for (const signal of OF_TERMINAL) process.on(signal, passUnlessSent);
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
      process.off('SIGTSTP', passUnlessSent);
      process.kill(process.pid, 'SIGTSTP');
      process.on('SIGTSTP', passUnlessSent);
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

/** Fields of proc_pid_stat(5) from the third on, which is the state. */
function fields(pid: number | 'self'): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch (error) {
    if (isSystemError(error)) return [];
    throw error;
  }
}

function stateOf(pid: number): string | undefined {
  return fields(pid)[0];
}

/** Whether the group of this process has its terminal: then the terminal's signals go to all of it. */
function inForeground(): boolean {
  const [, , group, , , foreground] = fields('self');
  return group !== undefined && group === foreground;
}
