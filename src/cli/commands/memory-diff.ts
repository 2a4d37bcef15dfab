import type { Command } from 'commander';
import { MendError } from '../../errors.js';
import type { Store } from '../../store/store.js';
import type { VersionRow } from '../../store/version-table.js';
import { knownProject, parseFileName, withStore } from '../context.js';
import { ExitStatus } from '../exit-status.js';
import { headVersion, type NamedFile, namedFile, parseVersion, versionOf, wasHead } from '../named-file.js';
import { coloured, localTime } from '../output.js';
import { patchText, type Side } from '../patch.js';
import type { MemoryOptions, RunMemory } from './memory-options.js';

export function addMemoryDiff(command: Command, run: RunMemory): void {
  command
    .description('show what changed, as a patch')
    .argument('<file>')
    .argument('[from]', 'this version, against what the file holds now')
    .argument('[to]', 'against this version')
    .addHelpText('after', HELP)
    .action((file: string, from: string | undefined, to: string | undefined, options: MemoryOptions) =>
      run((merged) => diff(file, from, to, merged(options))),
    );
}

const HELP = `
Without a version it shows the last change: what the file held before against
what it holds now. The last version stands for a file that was removed.

Of a version that was merged, when it alone is named or is the last change, it
shows three patches: what was saved meanwhile, what the session wrote, and what
the merge made of both. Name two versions to compare it with another.`;

async function diff(
  text: string,
  from: string | undefined,
  to: string | undefined,
  options: MemoryOptions,
): Promise<ExitStatus> {
  const name = parseFileName(text, options.project);
  const [first, second] = [from, to].map((number) =>
    number === undefined ? undefined : parseVersion(number, options.project),
  );
  const output = await withStore(false, async (store) => {
    const project = await knownProject(store, options.project);
    const file = namedFile(store, project, name);
    const named = first === undefined ? headVersion(file) : versionOf(file, first);
    if (second !== undefined && named) return twoVersions(store, file, named, versionOf(file, second));
    if (named?.kind === 'merged' && named.written !== null) return threeSides(store, file, named);
    if (first === undefined || !named) return lastChange(store, file, named);
    return againstHead(store, file, named);
  });
  await new Promise<void>((resolve, reject) =>
    process.stdout.write(output, (error) => (error ? reject(error) : resolve())),
  );
  return ExitStatus.done;
}

function twoVersions(store: Store, file: NamedFile, from: VersionRow, to: VersionRow): string {
  const patch = patchText(file.path, sideOf(store, from), sideOf(store, to));
  return patch || `versions ${from.number} and ${to.number} of ${file.shown} are the same\n`;
}

function againstHead(store: Store, file: NamedFile, from: VersionRow): string {
  const patch = patchText(file.path, sideOf(store, from), headSide(store, file));
  return patch || `version ${from.number} of ${file.shown} is what it ${file.head ? 'holds now' : 'held last'}\n`;
}

function lastChange(store: Store, file: NamedFile, last: VersionRow | undefined): string {
  const before = last && previous(file, last);
  if (!before && last?.number !== 1)
    throw new MendError(`no version of ${file.shown} from before its last change is kept: name two versions`);
  const from = before ? sideOf(store, before) : { bytes: undefined, label: 'nothing' };
  return patchText(file.path, from, headSide(store, file)) || `${file.shown} is empty, and always was\n`;
}

/** What was saved meanwhile, what the session wrote, and what came of it: the first two against what both began with. */
function threeSides(store: Store, file: NamedFile, merged: VersionRow): string {
  const { base, written, number, session, at } = merged;
  const other = previous(file, merged);
  const began = base === null ? { bytes: undefined, label: 'nothing' } : contentSide(store, file, base, 'common text');
  const wrote = contentSide(store, file, written ?? merged.content, 'what the session wrote');
  const result = sideOf(store, merged);
  const meanwhile = other && sideOf(store, other);
  const section = (title: string, from: Side, to: Side): string => {
    const patch = patchText(file.path, from, to);
    return `${coloured('yellow', title)}\n${patch || '(nothing)\n'}`;
  };
  const gone = `${coloured('yellow', 'saved meanwhile')}\n(not kept any more)\n`;
  return [
    `${file.shown}, version ${number}: merged ${localTime(at)}${session === null ? '' : `, ${session}`}\n`,
    meanwhile ? section('saved meanwhile', began, meanwhile) : gone,
    section('written by the session', began, wrote),
    meanwhile ? section('the merge', meanwhile, result) : section('the merge', wrote, result),
  ].join('\n');
}

/** What the file held before a version: the next older that was its content, and not the same. */
function previous({ history }: NamedFile, version: VersionRow): VersionRow | undefined {
  return history.find((row) => row.number < version.number && wasHead(row) && row.content !== version.content);
}

function sideOf(store: Store, version: VersionRow): Side {
  const { number, kind, at } = version;
  return { bytes: store.content(version.content), label: `version ${number} (${kind} ${localTime(at)})` };
}

function headSide(store: Store, file: NamedFile): Side {
  const version = headVersion(file);
  if (version) return sideOf(store, version);
  if (file.head) return { bytes: store.content(file.head.content), label: 'now' };
  throw new MendError(`no version of ${file.shown} is kept that it held: name two versions`);
}

/** A content that may be a version of the file, too. */
function contentSide(store: Store, { history }: NamedFile, content: number, label: string): Side {
  const version = history.find((row) => row.content === content && wasHead(row));
  return version ? sideOf(store, version) : { bytes: store.content(content), label };
}
