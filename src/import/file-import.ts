import { hash } from 'node:crypto';
import type { MergeOptions } from '../merge/merge-sides.js';
import type { ImportBase } from '../store/import-bases.js';
import type { ImportDispute } from '../store/import-disputes.js';
import type { MemoryFile, MemoryFiles } from '../store/memory-files.js';
import type { Store } from '../store/store.js';
import type { TreeRow } from '../store/tree-table.js';
import type { VersionRow } from '../store/version-table.js';
import { conflictReason } from './conflict-reason.js';
import type { ImportedFile, ImportOptions } from './import-options.js';
import { type Plan, plan, type Situation } from './plan.js';
import { NOT_SCANNED } from './secret-messages.js';

/** One file of the folder. */
interface SentFile {
  readonly path: string;
  /** Its path in the tree. */
  readonly target: string;
  readonly bytes: Buffer;
  /** µs since the epoch. */
  readonly mtime: number;
}

/** What the store knows of the file at one moment. */
interface Sight {
  readonly head: MemoryFile | undefined;
  readonly base: ImportBase | undefined;
  readonly dispute: ImportDispute | undefined;
  readonly known: number | undefined;
}

/** The import of one file: looks, plans, and stores in one transaction if nothing changed since it looked. */
export class FileImport {
  readonly #store: Store;
  readonly #tree: TreeRow;
  readonly #memory: MemoryFiles;
  readonly #file: SentFile;
  readonly #options: ImportOptions;

  constructor(store: Store, tree: TreeRow, memory: MemoryFiles, file: SentFile, options: ImportOptions) {
    this.#store = store;
    this.#tree = tree;
    this.#memory = memory;
    this.#file = file;
    this.#options = options;
  }

  /** @throws {NodeJS.ErrnoException} EISDIR, ENOTDIR where something of another kind is in the way; SQLite's errors. */
  async run(): Promise<ImportedFile> {
    const { path, bytes } = this.#file;
    const { scan } = this.#options;
    let scanned = scan === undefined;
    for (;;) {
      const sight = this.#look();
      const made = plan(this.#situation(sight));
      const { outcome, linesLost = 0 } = made;
      const overLimit = made.head && this.#overLimit(sight.head, made.head.length);
      if (overLimit) return { path, outcome: 'skipped', linesLost: 0, reason: overLimit };
      const takes = stores(made);
      const fault = takes ? this.#options.refuse?.(path, bytes) : undefined;
      if (fault !== undefined) return { path, outcome: 'skipped', linesLost: 0, reason: fault };
      if (takes && !scanned) {
        const [finding] = (await scan?.(path, bytes)) ?? [];
        if (finding) return { path, outcome: 'skipped', linesLost: 0, reason: secretReason(finding) };
        scanned = true;
        continue;
      }
      if (this.#carryOut(made, sight))
        return { path, outcome, linesLost, reason: made.reason ? conflictReason(made.reason) : null };
    }
  }

  #look(): Sight {
    const { machine, folder } = this.#options.source;
    const { path, target, bytes } = this.#file;
    return {
      head: this.#memory.find(target),
      base: this.#store.bases.get(machine, folder, this.#tree.id, path),
      dispute: this.#store.disputes.get(machine, folder, this.#tree.id, path),
      known: this.#store.contents.idOf(bytes),
    };
  }

  #situation({ head, base, dispute, known }: Sight): Situation {
    const store = this.#store;
    const { target, bytes, mtime } = this.#file;
    const { source, maintained, limits } = this.#options;
    const options: MergeOptions = {
      path: target,
      maintained,
      newer: mtime > (head?.row.mtime ?? 0) ? 'other' : 'store',
      from: { host: source.host, date: new Date(mtime / 1000).toISOString().slice(0, 10) },
    };
    return {
      machine: { id: known, bytes },
      head: head && { id: head.content, bytes: () => store.content(head.content) },
      base: base && { ...base, bytes: () => store.contentIfKept(base.sent) },
      disputed: this.#disputed(head, dispute),
      isKeptAside: dispute !== undefined && this.#isKeptAside(),
      options,
      fits: (length) => length <= limits.fileBytes && this.#overLimit(head, length) === undefined,
    };
  }

  #disputed(head: MemoryFile | undefined, dispute: ImportDispute | undefined): Situation['disputed'] {
    if (!dispute?.sent.equals(sha256(this.#file.bytes))) return 'no';
    if (!head || dispute.stored.length === 0) return 'settled';
    for (const { kind, sha256: content } of this.#history()) {
      if (kind === 'restored' || kind === 'removed') return 'settled';
      if (kind === 'conflict' && content.equals(dispute.sent)) break;
    }
    return 'waits';
  }

  #isKeptAside(): boolean {
    const sent = sha256(this.#file.bytes);
    return this.#history().some(({ kind, sha256: content }) => kind === 'conflict' && content.equals(sent));
  }

  #history(): VersionRow[] {
    return this.#store.versions.of(this.#tree.id, this.#file.target);
  }

  /** Why the project may not have so many bytes for this file, or not one file more. */
  #overLimit(head: MemoryFile | undefined, length: number): string | undefined {
    const { files, bytes } = this.#options.limits;
    const usage = this.#store.trees.usage(this.#tree.project);
    if (!head && usage.files >= files) return `is over the limit of ${files} files`;
    const more = length - (head?.row.size ?? 0);
    return more > 0 && usage.bytes + more > bytes ? `is over the limit of ${bytes} bytes` : undefined;
  }

  /** Stores what a plan asks for; false, with nothing stored, when the store has changed since it was made. */
  #carryOut(made: Plan, seen: Sight): boolean {
    if (!made.head && !made.keep && !this.#isNews(made, seen)) return true;
    const store = this.#store;
    return store.write(() => {
      const now = this.#look();
      const { base } = now;
      if (now.head?.content !== seen.head?.content || base?.sent !== seen.base?.sent) return false;
      if (base?.stored !== seen.base?.stored || now.known !== seen.known) return false;
      if (made.head && this.#overLimit(now.head, made.head.length)) return false;
      const { target, bytes } = this.#file;
      const { machine } = this.#options.source;
      const session = made.head || made.keep ? (this.#options.session?.() ?? 0) : 0;
      // What nobody takes as a head or a version is not stored: it may have been purged.
      const sent = stores(made) ? store.putContent(bytes) : this.#kept(now);
      if (sent === undefined) return true;
      if (made.keep) {
        store.addVersion({ tree: this.#tree.id, path: target, content: sent, kind: made.keep, session, machine });
      }
      const stored = made.head ? this.#putHead(made, now, sent, session) : now.head?.content;
      this.#remember(made, now, sent, stored);
      return true;
    });
  }

  #putHead({ head, merged }: Plan, { base }: Sight, sent: number, session: number): number | undefined {
    if (!head) return undefined;
    const { target, mtime } = this.#file;
    const { machine } = this.#options.source;
    if (!merged) return this.#memory.put(target, head, { kind: 'imported', session, machine, mtime });
    const merge = { base: merged.base ? (base?.sent ?? null) : null, written: sent };
    return this.#memory.put(target, head, { kind: 'merged', session, machine, merge });
  }

  /** The content that the machine sent, if the store has its bytes. */
  #kept({ known }: Pick<Sight, 'known'>): number | undefined {
    return known !== undefined && this.#store.contentIfKept(known) ? known : undefined;
  }

  /** Whether the next import has to know anything that is not remembered already. */
  #isNews(made: Plan, { head, base, dispute, known }: Sight): boolean {
    const stored = head && this.#store.contents.digest(head.content)?.sha256;
    if (made.remember === 'conflict') return !stored || !dispute?.stored.equals(stored);
    if (made.remember === undefined || (!stores(made) && this.#kept({ known }) === undefined)) return false;
    return dispute !== undefined || base?.sent !== known || base?.stored !== head?.content;
  }

  #remember({ remember }: Plan, { head }: Sight, sent: number, stored: number | undefined): void {
    const store = this.#store;
    const { machine, folder } = this.#options.source;
    const { path, target, bytes } = this.#file;
    const tree = this.#tree.id;
    if (remember === 'exchange' && stored !== undefined) {
      const file = target === path ? undefined : target;
      store.bases.put(machine, folder, tree, { path, sent, stored, file });
      store.disputes.delete(machine, folder, tree, path);
    }
    const theirs = head && store.contents.digest(head.content)?.sha256;
    if (remember === 'conflict' && theirs) {
      const file = target === path ? null : target;
      store.disputes.put(machine, folder, tree, { path, sent: sha256(bytes), stored: theirs, file });
    }
  }
}

/** Whether a plan has the store keep what the machine sent. */
function stores({ outcome, head, keep }: Plan): boolean {
  return head !== undefined || keep !== undefined || outcome === 'merged';
}

function sha256(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer');
}

function secretReason({ rule, line }: { readonly rule: string; readonly line: number }): string {
  if (rule === NOT_SCANNED) return 'could not be looked through for secrets';
  return `may hold a secret in line ${line} (${rule})`;
}
