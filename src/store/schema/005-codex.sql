-- What Codex knows of its summaries, carried with its tree: a row for each conversation that it has summed up. row is JSON
-- with the columns of Codex's own table (whatever they are), meta JSON with what Codex's list of conversations has to say
-- of it. updated, generated: Codex's times of the conversation and of its summary, seconds since the epoch.
CREATE TABLE summary (
  tree      INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  thread    TEXT NOT NULL,
  updated   INTEGER NOT NULL,
  generated INTEGER NOT NULL,
  row       TEXT NOT NULL,
  meta      TEXT,
  PRIMARY KEY (tree, thread)
) STRICT;

-- The row that a home and the store had in common last, by SHA-256. home is the id of the home: one that is made anew has
-- another one. source is the file name of its database.
CREATE TABLE summary_base (
  tree   INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  home   TEXT NOT NULL,
  source TEXT NOT NULL,
  thread TEXT NOT NULL,
  sha256 BLOB NOT NULL,
  PRIMARY KEY (tree, home, source, thread)
) STRICT, WITHOUT ROWID;

-- Databases of homes: when a copy that was taken in was begun, which database it was of (Codex may make another one), and why
-- the last one was refused.
CREATE TABLE summary_source (
  tree    INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  home    TEXT NOT NULL,
  source  TEXT NOT NULL,
  made    TEXT NOT NULL,
  taken   INTEGER NOT NULL,
  refused TEXT,
  PRIMARY KEY (tree, home, source)
) STRICT, WITHOUT ROWID;

-- A summary database without its rows, from which one is made in a new home. edition: the number of its newest migration.
-- progress: most conversations that were ever consolidated.
CREATE TABLE summary_template (
  tree     INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  source   TEXT NOT NULL,
  edition  INTEGER NOT NULL,
  progress INTEGER NOT NULL,
  bytes    BLOB NOT NULL,
  PRIMARY KEY (tree, source)
) STRICT;

-- Conversations that are carried with a tree. They are no memory. place is the path in a home, mtime µs since the epoch,
-- sha256 that of all parts together.
CREATE TABLE conversation (
  tree   INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  thread TEXT NOT NULL,
  place  TEXT NOT NULL,
  size   INTEGER NOT NULL,
  mtime  INTEGER NOT NULL,
  sha256 BLOB NOT NULL,
  PRIMARY KEY (tree, thread)
) STRICT;
CREATE TABLE conversation_part (
  tree   INTEGER NOT NULL,
  thread TEXT NOT NULL,
  number INTEGER NOT NULL,
  bytes  BLOB NOT NULL,
  PRIMARY KEY (tree, thread, number),
  FOREIGN KEY (tree, thread) REFERENCES conversation (tree, thread) ON DELETE CASCADE
) STRICT;

-- Conversations that a home had: one that it has no more was deleted there.
CREATE TABLE conversation_seen (
  tree   INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  home   TEXT NOT NULL,
  thread TEXT NOT NULL,
  PRIMARY KEY (tree, home, thread)
) STRICT, WITHOUT ROWID;
