-- Ids of node, content, draft, tree, session and mount come from one counter (meta.next_id) and are never used again:
-- the kernel and running sessions hold them. Times are µs since the epoch.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES ('next_id', 1024);

CREATE TABLE tree (
  id      INTEGER PRIMARY KEY,
  project INTEGER NOT NULL REFERENCES project (id),
  harness TEXT NOT NULL,
  root    INTEGER NOT NULL,
  UNIQUE (project, harness)
) STRICT;

-- Immutable bytes. What points here: node, version, draft, served, import_base. Unreferenced rows are swept in the background.
CREATE TABLE content (
  id     INTEGER PRIMARY KEY,
  size   INTEGER NOT NULL,
  sha256 BLOB NOT NULL UNIQUE,
  bytes  BLOB NOT NULL
) STRICT;

-- The live tree. parent and name are NULL for a root and for a file that was removed while somebody held it.
-- mount is 0 for memory, else the one mount that a local file belongs to. content is NULL for folders, files that were
-- created and not closed yet, and local files but those that were written whole, in one go. shown is the newest modification time that anybody was told.
CREATE TABLE node (
  id      INTEGER PRIMARY KEY,
  tree    INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  mount   INTEGER NOT NULL DEFAULT 0,
  parent  INTEGER,
  name    TEXT,
  kind    TEXT NOT NULL CHECK (kind IN ('file', 'directory')),
  content INTEGER,
  size    INTEGER NOT NULL DEFAULT 0,
  mtime   INTEGER NOT NULL,
  atime   INTEGER NOT NULL,
  ctime   INTEGER NOT NULL,
  shown   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX entry ON node (parent, name, mount) WHERE parent IS NOT NULL;
CREATE INDEX node_tree ON node (tree) WHERE parent IS NULL;

-- What happened to a path: the content it got (or, for a removal, lost). Numbers rise and are not used again.
CREATE TABLE version (
  tree    INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  path    TEXT NOT NULL,
  number  INTEGER NOT NULL,
  content INTEGER NOT NULL,
  kind    TEXT NOT NULL CHECK (kind IN ('saved', 'merged', 'imported', 'removed', 'conflict', 'interrupted', 'restored')),
  at      INTEGER NOT NULL,
  session INTEGER NOT NULL,
  machine INTEGER NOT NULL,
  PRIMARY KEY (tree, path, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
  id      INTEGER PRIMARY KEY,
  key     TEXT NOT NULL UNIQUE,
  name    TEXT NOT NULL,
  started INTEGER NOT NULL
) STRICT;

-- Bytes written and not yet saved. owner is the daemon that serves the draft; when it dies the draft becomes a version.
-- A draft starts from its first whole write when there is one (a content, so that saving it moves no bytes), else from its base.
CREATE TABLE draft (
  id      INTEGER PRIMARY KEY,
  owner   TEXT NOT NULL,
  tree    INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  node    INTEGER NOT NULL,
  path    TEXT NOT NULL,
  session INTEGER NOT NULL,
  base    INTEGER,
  first   INTEGER
) STRICT;

-- One row a write, id = draft * 2^20 + number of the write; bytes is NULL for a truncation to the length in position.
CREATE TABLE draft_write (
  id       INTEGER PRIMARY KEY,
  position INTEGER NOT NULL,
  bytes    BLOB
) STRICT;

-- What each session last read and last wrote of a path.
CREATE TABLE served (
  session INTEGER NOT NULL,
  tree    INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  path    TEXT NOT NULL,
  content INTEGER,
  wrote   INTEGER,
  at      INTEGER NOT NULL,
  PRIMARY KEY (session, tree, path)
) STRICT, WITHOUT ROWID;

-- What was last taken in from, or written to, a folder of a machine: the base of the next import from there.
CREATE TABLE import_base (
  machine INTEGER NOT NULL,
  folder  TEXT NOT NULL,
  tree    INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  path    TEXT NOT NULL,
  sent    INTEGER NOT NULL,
  stored  INTEGER NOT NULL,
  PRIMARY KEY (machine, folder, tree, path)
) STRICT, WITHOUT ROWID;

-- Where a tree is or was mounted; local files belong to a row of this table. owner is the daemon that served it last: two
-- daemons in two mount namespaces may serve the same path.
CREATE TABLE mount (
  id       INTEGER PRIMARY KEY,
  tree     INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  machine  INTEGER NOT NULL,
  path     TEXT NOT NULL,
  checkout TEXT NOT NULL,
  owner    TEXT NOT NULL,
  UNIQUE (machine, path, owner)
) STRICT;

-- Bytes of local files in blocks of 16 KiB, id = node * 2^20 + number of the block.
CREATE TABLE local_block (
  id    INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;

-- The feed that every daemon follows: this node of this tree is not what it was.
CREATE TABLE change (
  seq  INTEGER PRIMARY KEY,
  tree INTEGER NOT NULL,
  node INTEGER NOT NULL
) STRICT;
