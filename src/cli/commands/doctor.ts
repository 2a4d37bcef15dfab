import type { Command } from 'commander';
import { printable } from '../../project/printable.js';
import { runChecks } from '../doctor/checks.js';
import { examine } from '../doctor/examined.js';
import type { Finding, Status } from '../doctor/finding.js';
import { ExitStatus } from '../exit-status.js';
import { coloured, counted, printJson, printLine } from '../output.js';

export function addDoctor(program: Command, run: (work: () => Promise<ExitStatus>) => Promise<void>): void {
  program
    .command('doctor')
    .description('look for everything that can be wrong, and say how to mend it')
    .option('--json', 'print one JSON document')
    .addHelpText('after', HELP)
    .action((options: { json?: boolean }) => run(() => doctor(options.json === true)));
}

const HELP = `
It looks at this machine, your environment, the store, the mounts, the
repository you are in and every checkout that the store knows. It changes
nothing. The exit status is 0 when all is well, and 3 when something is left to
settle.

With --json each finding has the keys check, status ("ok", "warning" or
"problem"), message, and hint (what to do, or null).`;

async function doctor(json: boolean): Promise<ExitStatus> {
  const findings = await runChecks(await examine());
  const count = (status: Status): number => findings.filter((one) => one.status === status).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (json) printJson(findings);
  else {
    const width = Math.max(...findings.map(({ check }) => check.length));
    for (const finding of findings) printLine(line(finding, width));
    const sums = [
      ...(problems > 0 ? [counted(problems, 'problem')] : []),
      ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
    ];
    printLine(`\n${sums.length === 0 ? 'all is well' : sums.join(', ')}`);
  }
  return problems + warnings === 0 ? ExitStatus.done : ExitStatus.unsettled;
}

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const STATUS_WIDTH = Math.max(...Object.keys(COLOURS).map((status) => status.length));

function line({ check, status, message, hint }: Finding, width: number): string {
  const shown = coloured(COLOURS[status], status.padEnd(STATUS_WIDTH));
  return `${shown}  ${check.padEnd(width)}  ${printable(hint === null ? message : `${message}: ${hint}`)}`;
}
