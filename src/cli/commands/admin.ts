import type { Command } from 'commander';
import type { Run } from '../program.js';
import { addAdminDisable } from './admin-disable.js';
import { addAdminEnable } from './admin-enable.js';
import { addAdminStart } from './admin-start.js';
import { addAdminStatus } from './admin-status.js';

export function addAdmin(program: Command, run: Run): void {
  const admin = program
    .command('admin')
    .description('for root: set people of this machine up, and see how all of them fare')
    .summary('for root: set people of this machine up');
  addAdminEnable(admin.command('enable'), run);
  addAdminDisable(admin.command('disable'), run);
  addAdminStart(admin.command('start'), run);
  addAdminStatus(admin.command('status'), run);
}
