import type { Command } from 'commander';
import type { Run } from '../program.js';
import { addSessionEnd } from './session-end.js';
import { addSessionList } from './session-list.js';
import { addSessionShare } from './session-share.js';
import { addSessionShow } from './session-show.js';

export function addSession(program: Command, run: Run): void {
  const session = program
    .command('session')
    .description('list the sessions that "mend run" started, look at one, share it, and end it')
    .summary('sessions that "mend run" started')
    .option('--all', 'also those that were ended')
    .option('--json', 'print one JSON document');
  addSessionList(session.command('list', { isDefault: true }), session, run);
  addSessionShow(session.command('show'), run);
  addSessionShare(session.command('share'), run);
  addSessionEnd(session.command('end'), run);
}
