/**
 * Finds for the files of a machine those of memory that they are. A name is its own counterpart, or else one that
 * differs from it only in Unicode form: a note that a Mac wrote (NFD) and the same from Linux (NFC) are one file. Two
 * names that lie beside each other in the machine's folder are two files, whatever their form.
 */
export class Counterparts {
  /** Paths of memory, folders included. */
  readonly #memory: Set<string>;
  /** The files and the folders by their normal form, joined to the path of the folder that they lie in. */
  readonly #byForm = { file: new Map<string, string[]>(), folder: new Map<string, string[]>() };
  /** Paths of the machine, folders included. */
  readonly #machine: Set<string>;
  /** Paths of memory that stand for one of another form, with the machine's path. */
  readonly #taken = new Map<string, string>();

  /**
   * @param memory paths of the files in memory
   * @param machine paths of the files in the machine's folder
   */
  constructor(memory: Iterable<string>, machine: Iterable<string>) {
    const files = new Set(memory);
    this.#memory = withFolders(files);
    this.#machine = withFolders(machine);
    for (const path of this.#memory) {
      const [folder, name] = split(path);
      const form = joined(folder, name.normalize('NFC'));
      const forms = this.#byForm[files.has(path) ? 'file' : 'folder'];
      forms.set(form, [...(forms.get(form) ?? []), path]);
    }
  }

  /** The path in memory that a path of the machine stands for. */
  of(path: string): string {
    let found = '';
    let walked = '';
    for (const name of path.split('/')) {
      walked = joined(walked, name);
      found = this.#within(found, name, walked, walked === path ? 'file' : 'folder');
    }
    return found;
  }

  #within(folder: string, name: string, walked: string, kind: 'file' | 'folder'): string {
    const exact = joined(folder, name);
    if (this.#memory.has(exact)) return exact;
    const others = this.#byForm[kind].get(joined(folder, name.normalize('NFC'))) ?? [];
    const free = (other: string): boolean => !this.#machine.has(other) && (this.#taken.get(other) ?? walked) === walked;
    const other = others.find(free);
    if (other !== undefined) this.#taken.set(other, walked);
    return other ?? exact;
  }
}

function withFolders(paths: Iterable<string>): Set<string> {
  const all = new Set<string>();
  for (let path of paths) {
    for (; path !== '' && !all.has(path); path = split(path)[0]) all.add(path);
  }
  return all;
}

function split(path: string): readonly [folder: string, name: string] {
  const slash = path.lastIndexOf('/');
  return [path.slice(0, Math.max(0, slash)), path.slice(slash + 1)];
}

function joined(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}
