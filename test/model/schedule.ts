// The language of schedules. A step is `[~]<process> <operation> [<file>] [<change>...]`; steps are separated by `;`.
//
// `~` lets an hour pass before the step; without it no more than milliseconds do.
// A process is the letter of its session: `A`, `B`, `C`, or `Z` for somebody who only makes a file to begin with. `A`
// is the harness itself, `A'` another process of it that runs all the time, `A*` a program that starts for this step
// (and lives for as long as it has a file open).
//
//   read a     opens, reads to the end, closes
//   keep a     opens for reading, and keeps that open; `again` reads it from the start, `drop` closes it
//   trunc a    opens for writing and truncates (`>`); makes the file when it is missing
//   rw a       opens for reading and writing (`r+`); `look` reads through it
//   append a   opens for appending (`>>`); makes the file when it is missing
//   create a   makes the file, which must not be there (O_EXCL)
//   put …      writes through the file open for writing: the whole text; what was added only, where that goes on after
//              something that was written before, or at the end of a file open for appending
//   half …     writes the first half of the text; the next `put` writes the rest
//   copy       closes a copy of the descriptor (as `dup2` does) and goes on
//   child      another process of the session closes a descriptor that it inherited, and never wrote through
//   close      closes the file open for writing
//   swap a …   writes a temporary file with the name that Claude Code gives it, and renames it over
//   swapo a …  the same with a temporary file of an ordinary name
//   temp a …   only writes the temporary file; `move` renames it over
//   unlink a   removes the file
//
// A text is made from what the session last knew of the file, by the changes: `+x` adds a line `x` at the end, `+x@2`
// before the third line, `-x` takes one out. `^` in front makes it from what the session knew before its last read, `!`
// from nothing.

export type Session = 'A' | 'B' | 'C' | 'Z';

export interface Process {
  readonly session: Session;
  readonly role: '' | "'" | '*';
}

export const FILE_OPERATIONS = [
  ...(['read', 'keep', 'trunc', 'rw', 'append', 'create'] as const),
  ...(['swap', 'swapo', 'temp', 'unlink'] as const),
];
export const OPEN_OPERATIONS = [
  ...(['again', 'drop', 'look', 'put', 'half', 'copy', 'child', 'close', 'move'] as const),
];
export type Operation = (typeof FILE_OPERATIONS)[number] | (typeof OPEN_OPERATIONS)[number];

export type Change = { readonly add: string; readonly at: number | undefined } | { readonly remove: string };

export interface Edit {
  readonly from: 'known' | 'older' | 'nothing';
  readonly changes: readonly Change[];
}

export interface Step {
  readonly late: boolean;
  readonly process: Process;
  readonly operation: Operation;
  readonly file: string;
  readonly edit: Edit;
}

const STEP = /^(~?)([ABCZ])(['*]?) (\w+)((?: .+)?)$/;

/** @throws {Error} on anything that is not a schedule. */
export function parseSchedule(text: string): Step[] {
  return text
    .split(';')
    .map((step) => step.trim().replace(/\s+/g, ' '))
    .filter((step) => step !== '')
    .map(parseStep);
}

function parseStep(text: string): Step {
  const [, late, session, role, operation = '', rest = ''] = STEP.exec(text) ?? [];
  const words = rest.trim().split(' ').filter(Boolean);
  const ofFile = (FILE_OPERATIONS as readonly string[]).includes(operation);
  if (session === undefined || (!ofFile && !(OPEN_OPERATIONS as readonly string[]).includes(operation)))
    throw new Error(`no step: ${text}`);
  const file = ofFile ? words.shift() : '';
  if (file === undefined || /[^\w.-]/.test(file)) throw new Error(`no file: ${text}`);
  const source = words[0] === '^' || words[0] === '!' ? words.shift() : undefined;
  const from = source === '^' ? 'older' : source === '!' ? 'nothing' : 'known';
  return {
    late: late === '~',
    process: { session: session as Session, role: role as Process['role'] },
    operation: operation as Operation,
    file,
    edit: { from, changes: words.map(parseChange) },
  };
}

function parseChange(word: string): Change {
  const [, sign, line, at] = /^([+-])([\w.]+)(?:@(\d+))?$/.exec(word) ?? [];
  if (line === undefined) throw new Error(`no change: ${word}`);
  return sign === '-' ? { remove: line } : { add: line, at: at === undefined ? undefined : Number(at) };
}

/** A schedule as `parseSchedule` reads it. */
export function printSchedule(steps: readonly Step[]): string {
  return steps.map(printStep).join('; ');
}

function printStep({ late, process, operation, file, edit }: Step): string {
  const source = { known: '', older: '^', nothing: '!' }[edit.from];
  const changes = edit.changes.map((change) =>
    'remove' in change ? `-${change.remove}` : `+${change.add}${change.at === undefined ? '' : `@${change.at}`}`,
  );
  const words = [`${late ? '~' : ''}${process.session}${process.role}`, operation, file, source, ...changes];
  return words.filter((word) => word !== '').join(' ');
}

/** The text that an edit makes of a content. */
export function edited(lines: readonly string[], edit: Edit): string {
  const result = edit.from === 'nothing' ? [] : [...lines];
  for (const change of edit.changes) {
    if ('remove' in change) {
      const at = result.indexOf(change.remove);
      if (at >= 0) result.splice(at, 1);
    } else result.splice(Math.min(change.at ?? result.length, result.length), 0, change.add);
  }
  return result.map((line) => `${line}\n`).join('');
}
