/**
 * Names that programs leave behind, each only in the exact form that its program makes: a name a person would
 * choose for a note stays memory (`notes.bak`, `draft.orig`, `swap.swp.md`). Random parts that could be a word
 * count only with a capital or a digit in them; a temporary name that is missed does no harm, because a rename
 * over a note leaves no trace of its source.
 */
const PATTERNS: readonly string[] = [
  // Vim: swap files `.name.swp`, then `.swo`, … `.swa`; its probe of a folder. Nano's lock is named like a swap file.
  '\\.(?:[^/]*\\.)?sw[a-p]',
  '4913',
  // Backups `name~` (also `.name.un~`, `name.~1~`, rsync's `.~tmp~`); Emacs auto-save `#name#` and lock `.#name`.
  '[^/]+~',
  '#[^/]+#',
  '\\.#[^/]+',
  // Locks (`*.lock`, LibreOffice's `.~lock.name#`), Office's owner files.
  '[^/]*\\.lock',
  '\\.~lock\\.[^/]+#',
  '~\\$[^/]+',
  // Temporary files: `name.tmp.<pid>.<hex>` and every other `*.tmp.*`, `*.tmp`, mktemp(1), Rust's tempfile.
  '[^/]*\\.tmp(?:\\.[^/]*)?',
  'tmp\\.(?=[^/]*[A-Z0-9])[A-Za-z0-9]{10}',
  '\\.tmp(?=[^/]*[A-Z0-9])[A-Za-z0-9]{6}',
  // Temporary files of GNU sed -i, rsync, GLib, Kate, JetBrains.
  'sed(?=[^/]*[A-Z0-9])[A-Za-z0-9]{6}',
  '\\.[^/]+\\.(?=[^/.]*[A-Z0-9])[A-Za-z0-9]{6}',
  '\\.goutputstream-[A-Za-z0-9]{6}',
  '\\.[^/]+\\.kate-swp',
  '[^/]+___jb_(?:tmp|old)___',
  // Open files removed under FUSE and NFS.
  '\\.fuse_hidden[0-9a-f]{8,}',
  '\\.nfs[0-9a-f]{8,}',
  // A Git repository: its files are many, and no notes.
  '\\.git',
  // Desktops: macOS, Windows, KDE, the trash of a volume.
  '\\.DS_Store',
  '\\._[^/]+',
  'Thumbs\\.db',
  'desktop\\.ini',
  '\\.directory',
  '\\.Trash(?:es|-\\d+)',
];

const LEFT_BEHIND = new RegExp(`(?:^|/)(?:${PATTERNS.join('|')})(?:/|$)`);

/** Tells whether any segment of a `/`-separated path is a name that other programs leave behind. */
export function isLeftBehind(path: string): boolean {
  return LEFT_BEHIND.test(path);
}
