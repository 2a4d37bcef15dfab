import type { Command } from 'commander';
import type { Store } from '../../store/store.js';
import { hasStore, withStore } from '../context.js';
import { refuseWords } from '../default-command.js';
import { ExitStatus } from '../exit-status.js';
import { printJson, printLine, printTable, quoted } from '../output.js';

export function addProjectList(
  command: Command,
  parent: Command,
  run: (work: () => Promise<ExitStatus>) => Promise<void>,
): void {
  command
    .description('list the projects')
    .option('--json', 'print one JSON document')
    .allowExcessArguments()
    .action((options: { json?: boolean }, self: Command) => {
      refuseWords(parent, self);
      return run(() => list(options.json === true || parent.opts<{ json?: boolean }>().json === true));
    });
}

async function list(json: boolean): Promise<ExitStatus> {
  const rows = hasStore() ? await withStore(false, (store) => listed(store)) : [];
  if (json) printJson(rows);
  else if (rows.length === 0) printLine('no project has memory yet: run "mend mount" in a checkout');
  else {
    const cells = rows.map((row) => [
      row.name,
      String(row.files),
      row.remotes.map(quoted).join(' ') || '-',
      row.paths.map(quoted).join(' ') || '-',
    ]);
    printTable(['project', 'files', 'remote', 'checkouts here'], cells, [1]);
  }
  return ExitStatus.done;
}

function listed(store: Store) {
  return store.projects
    .list(store.machine)
    .map(({ id, name, remotes, paths }) => ({ name, files: store.trees.usage(id).files, remotes, paths }));
}
