import type { Command } from 'commander';
import type { ExitStatus } from '../exit-status.js';
import { addProjectForget } from './project-forget.js';
import { addProjectLink } from './project-link.js';
import { addProjectList } from './project-list.js';
import { addProjectNew } from './project-new.js';
import { addProjectRename } from './project-rename.js';

export function addProject(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  const project = program
    .command('project')
    .description('list projects, and settle which one a checkout belongs to')
    .option('--json', 'print one JSON document');
  addProjectList(project.command('list', { isDefault: true }), project, run);
  addProjectRename(project.command('rename'), run);
  addProjectLink(project.command('link'), run);
  addProjectNew(project.command('new'), run);
  addProjectForget(project.command('forget'), run);
}
