import { dirname } from 'node:path';
import { version } from '../../daemon/version.js';
import { memoryHarness } from '../../harness/registry.js';
import { carriers } from '../../import/carrier.js';
import { shellWord, shellWords } from '../../project/shell-word.js';
import type { Store } from '../../store/store.js';
import { memoryFolderOf, placed } from '../harness-place.js';
import { projectCommand } from '../memory-command.js';
import { counted, quoted } from '../output.js';
import type { Examined } from './examined.js';
import { ok, orOk, problem, type Result, warning } from './finding.js';
import { mountReached, ownMounts } from './mount-entries.js';

/** The daemon answers, and is of this program's version. */
export function checkDaemon({ daemon }: Examined): readonly Result[] {
  if (daemon === undefined) return [ok('no daemon runs')];
  if (daemon === 'silent')
    return [
      problem(
        'the daemon does not answer',
        'look at daemon.log in the folder of the store; ending the process and running "mend mount" again loses nothing',
      ),
    ];
  const what = `the daemon, process ${daemon.pid}`;
  if (daemon.version !== version)
    return [
      warning(
        `${what}, is of version ${daemon.version}, and this command of ${version}`,
        'run "mend unmount --all" and "mend mount --all"',
      ),
    ];
  return [ok(`${what}, serves ${counted(daemon.mounts.length, 'mount')}`)];
}

/** Every mount is served, and can be reached. */
export function checkMounts({ mounts, life, daemon, uid }: Examined): readonly Result[] {
  const ours = ownMounts(mounts, uid);
  const moved = typeof daemon === 'object' ? daemon.mounts.filter((one) => one.moved !== null) : [];
  const faults = ours.flatMap((entry) => {
    const path = quoted(entry.path);
    const from = moved.find((one) => one.moved === entry.path);
    if (from)
      return [
        problem(
          `the folder of the mount on ${quoted(from.path)} was moved to ${path} while it was mounted: agents find no memory where it was`,
          `run ${projectCommand('mount', from.project)}, which mounts in its place again`,
        ),
      ];
    const over = mountReached(mounts, entry.path);
    if (over && over.id !== entry.id)
      return [
        problem(
          `the mount on ${path} is hidden by another one (${over.type} on ${quoted(over.path)}): agents use the folder on top`,
          `take that one off: umount ${shellWord(over.path)}`,
        ),
      ];
    const sign = life.get(entry.path);
    if (sign === 'dead')
      return [
        problem(
          `${path} has lost the daemon that served it`,
          `run "mend unmount ${shellWords(entry.path)}", or "mend mount" in its checkout`,
        ),
      ];
    if (sign === 'silent' && daemon !== 'silent')
      return [problem(`the mount on ${path} does not answer`, `run "mend unmount --force ${shellWords(entry.path)}"`)];
    return [];
  });
  return orOk(faults, ours.length === 0 ? 'nothing is mounted' : `${counted(ours.length, 'mount')} can be used`);
}

/** Nothing was refused because of a limit. */
export function checkRefused({ daemon, settings }: Examined): readonly Result[] {
  if (typeof daemon !== 'object') return [];
  const faults = daemon.mounts.flatMap(({ path, refused, project, harness }) =>
    // What lies beside the memory folder has a check of its own.
    refused === null || carriers[harness]?.faults(dirname(path), settings.codex).some((fault) => fault.path === refused)
      ? []
      : [
          warning(
            `${quoted(refused)} of project "${project}" was refused: it is over a limit`,
            'remove or shorten files, or raise "limits" in the settings',
          ),
        ],
  );
  return orOk(faults, 'no mounted folder refused a file');
}

/** What is mounted is where agents look, with the environment as it is now. */
export function checkPlaces({ daemon }: Examined, store: Store): readonly Result[] {
  if (typeof daemon !== 'object') return [];
  const projects = store.projects.list(store.machine);
  // Of those that were moved another check tells.
  const inPlace = daemon.mounts.filter(({ moved }) => moved === null);
  const faults = inPlace.flatMap(({ path, project, harness }) => {
    const checkouts = projects.find(({ name }) => name === project)?.paths ?? [];
    const owner = placed(store, projects.find(({ name }) => name === project)?.id);
    const expected = checkouts.flatMap((root) => memoryFolderOf(memoryHarness(harness), root, owner) ?? []);
    if (expected.length === 0 || expected.includes(path)) return [];
    return [
      warning(
        `the memory of project "${project}" is mounted on ${quoted(path)}, but an agent started here would use ${quoted(expected[0] ?? '')}`,
        `start agents with the HOME and CLAUDE_CONFIG_DIR that "mend mount" had, or run ${projectCommand('mount', project)}`,
      ),
    ];
  });
  return orOk(faults, daemon.mounts.length === 0 ? 'nothing is mounted' : 'agents find what is mounted');
}
