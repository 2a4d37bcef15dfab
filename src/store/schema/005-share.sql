-- Sessions that several people steer (`mend session share`); it stays here when the session is ended. slot numbers what such
-- a session sees in the place of memory, and is not used again. at is when it was shared, in µs since the epoch.
CREATE TABLE shared_session (
  session INTEGER PRIMARY KEY REFERENCES named_session (session) ON DELETE CASCADE,
  slot    INTEGER NOT NULL UNIQUE,
  at      INTEGER NOT NULL
) STRICT;

-- Conversations that were held, or summed up, while a shared session used the same home: they are not carried, nor are their
-- summaries.
CREATE TABLE withheld (
  tree   INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  thread TEXT NOT NULL,
  PRIMARY KEY (tree, thread)
) STRICT, WITHOUT ROWID;
