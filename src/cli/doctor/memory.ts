import { secretsOfHeads } from '../../import/secret-heads.js';
import { SecretScanner } from '../../import/secrets.js';
import { MemoryFiles } from '../../store/memory-files.js';
import type { Store } from '../../store/store.js';
import { displayName } from '../context.js';
import { memoryCommand } from '../memory-command.js';
import { notesOf } from '../memory-notes.js';
import { counted, quoted, sized } from '../output.js';
import type { Examined } from './examined.js';
import { orOk, type Result, warning } from './finding.js';
import { projectHere } from './folders.js';

/** Part of a limit from which it is near. */
const NEAR = 0.9;

/** What projects have is well within the limits. */
export function checkLimits({ settings: { limits } }: Examined, store: Store): readonly Result[] {
  const hint = 'remove what is not needed, or raise "limits" in the settings';
  const faults = store.projects.list(store.machine).flatMap(({ id, name }) => {
    const { files, bytes } = store.trees.usage(id);
    const large = store.trees.ofProject(id).flatMap((tree) =>
      new MemoryFiles(store, tree)
        .list()
        .filter(({ row }) => row.size >= NEAR * limits.fileBytes)
        .map(({ path, row }) =>
          warning(
            `${quoted(displayName(tree.harness, path))} of project "${name}" has ${sized(row.size)} of ${sized(limits.fileBytes)} that a file may have`,
            'split it, or raise "limits" in the settings',
          ),
        ),
    );
    return [
      ...(files >= NEAR * limits.files
        ? [warning(`project "${name}" has ${files} of ${limits.files} files that it may have`, hint)]
        : []),
      ...(bytes >= NEAR * limits.bytes
        ? [warning(`project "${name}" has ${sized(bytes)} of ${sized(limits.bytes)} that it may have`, hint)]
        : []),
      ...large,
    ];
  });
  return orOk(faults, 'no project is near a limit');
}

/** Nothing in the memory waits for a person: conflicts, an index that misleads, likely secrets. */
export async function checkMemory(examined: Examined, store: Store): Promise<readonly Result[]> {
  const here = projectHere(examined, store);
  const scanner = new SecretScanner();
  const faults: Result[] = [];
  try {
    for (const { id, name } of store.projects.list(store.machine)) {
      const given = id === here?.id ? undefined : name;
      for (const tree of store.trees.ofProject(id)) {
        const secrets = await secretsOfHeads(store, tree, scanner);
        const { advice } = notesOf(store, tree, new MemoryFiles(store, tree).list(), { secrets, given });
        for (const { what, todo } of advice)
          faults.push(warning(`project "${name}": ${what}`, todo ?? `see ${memoryCommand(given)}`));
      }
    }
  } finally {
    await scanner.close();
  }
  return orOk(faults, 'no conflict waits, every index is in order, and nothing looks like a secret');
}

/** No save that was cut short waits for somebody to look at it. */
export function checkInterrupted(examined: Examined, store: Store): readonly Result[] {
  const here = projectHere(examined, store);
  const faults = store.projects.list(store.machine).flatMap(({ id, name }) => {
    const given = id === here?.id ? undefined : name;
    return store.trees.ofProject(id).flatMap((tree) =>
      [...store.versions.counts(tree.id)].flatMap(([path, { interrupted }]) => {
        if (interrupted === 0) return [];
        const file = displayName(tree.harness, path);
        const first = store.versions.of(tree.id, path).find(({ kind }) => kind === 'interrupted')?.number ?? 0;
        return [
          warning(
            `${quoted(file)} of project "${name}" has ${counted(interrupted, 'interrupted save')}`,
            `see ${memoryCommand(given, 'log', file)}, restore what you need, and then drop it: ${memoryCommand(given, 'purge', file, ['--version', String(first)])}`,
          ),
        ];
      }),
    );
  });
  return orOk(faults, 'no interrupted save waits');
}
