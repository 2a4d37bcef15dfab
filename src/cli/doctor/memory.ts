import { secretsOfHeads } from '../../import/secret-heads.js';
import { SecretScanner } from '../../import/secrets.js';
import { MemoryFiles } from '../../store/memory-files.js';
import type { Store } from '../../store/store.js';
import { displayName } from '../context.js';
import { notesOf } from '../memory-notes.js';
import { counted, quoted, sized } from '../output.js';
import type { Examined } from './examined.js';
import { orOk, type Result, warning } from './finding.js';

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
export async function checkMemory(store: Store): Promise<readonly Result[]> {
  const scanner = new SecretScanner();
  const faults: Result[] = [];
  try {
    for (const { id, name } of store.projects.list(store.machine)) {
      for (const tree of store.trees.ofProject(id)) {
        const secrets = await secretsOfHeads(store, tree, scanner);
        const { advice } = notesOf(store, tree, new MemoryFiles(store, tree).list(), secrets);
        faults.push(...advice.map((sentence) => inProject(name, sentence)));
      }
    }
  } finally {
    await scanner.close();
  }
  return orOk(faults, 'no conflict waits, every index is in order, and nothing looks like a secret');
}

/** An advice of "mend memory", which is about one project, as a finding. */
function inProject(name: string, advice: string): Result {
  const [, message = advice, hint = 'see "mend memory"'] = /^(.*?): (.*)$/s.exec(advice) ?? [];
  return warning(`project "${name}": ${message}`, hint);
}

/** No save that was cut short waits for somebody to look at it. */
export function checkInterrupted(store: Store): readonly Result[] {
  const faults = store.projects.list(store.machine).flatMap(({ id, name }) =>
    store.trees.ofProject(id).flatMap((tree) =>
      [...store.versions.counts(tree.id)].flatMap(([path, { interrupted }]) => {
        if (interrupted === 0) return [];
        const file = quoted(displayName(tree.harness, path));
        return [
          warning(
            `${file} of project "${name}" has ${counted(interrupted, 'interrupted save')}`,
            `see "mend memory log ${file}", restore what you need, and "mend memory purge" the version`,
          ),
        ];
      }),
    ),
  );
  return orOk(faults, 'no interrupted save waits');
}
