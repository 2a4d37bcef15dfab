/** Paragraphs of mend(1) that no command's help says. */
export const ABOUT = `Coding agents keep what they learn about a repository in a folder of small files. mend puts a file system over that
folder. The agent goes on using ordinary files; behind them is a store that belongs to one Linux user, in which every
save is a version and every write is safe the moment it returns. Whatever one session saves, the next open in any other
session sees, and sessions that save one file at once keep each other's lines.

Each command has a page of its own, and prints a shorter one with --help.`;

/** A term with what it means. */
export type Entry = readonly [term: string, text: string];

/** What the exit statuses mean (spec §11.1). */
export const EXIT_STATUSES: readonly Entry[] = [
  ['0', 'All is done.'],
  ['1', 'It failed, and nothing was changed; of mend store check, the store is damaged.'],
  ['2', 'The command line was wrong.'],
  [
    '3',
    'It is done, with something left to settle: a conflict, a file that was left out, a mount of several that could not be made.',
  ],
];

export const ENVIRONMENT: readonly Entry[] = [
  ['MEND_STORE_DIR', 'Folder of the store, in the place of the default. An absolute path.'],
  ['MEND_SYSTEM_DIR', 'Folder in the place of /var/lib/mend. An absolute path.'],
  ['XDG_DATA_HOME', 'Folder that has the store in mend/<uid>, by default ~/.local/share.'],
  ['XDG_CONFIG_HOME', 'Folder that has the settings in mend/config.yaml, by default ~/.config.'],
  ['CLAUDE_CONFIG_DIR', "Claude Code's folder, by default ~/.claude."],
  ['HOME', 'The home folder.'],
  ['NO_COLOR', 'When set, nothing is coloured. Without a terminal nothing is, either.'],
  ['MEND_LOG', 'Level of messages on standard error: error, warn, info or debug.'],
];

export const FILES: readonly Entry[] = [
  ['/var/lib/mend/<uid>/store.db', 'The store, where an administrator made that folder.'],
  ['~/.local/share/mend/<uid>/store.db', 'The store elsewhere.'],
  ['~/.local/share/mend/<uid>/store.db.*', 'Backups of the store, and stores that were replaced.'],
  ['~/.local/share/mend/<uid>/daemon.log', 'What the daemon has to say.'],
  ['~/.config/mend/config.yaml', 'Settings.'],
  ['~/.claude/projects/<path>/memory', "Claude Code's memory of a repository: the folder that is mounted."],
];
