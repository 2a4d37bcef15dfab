-- Sessions that several people steer (`mend session share`); it stays here when the session is ended. slot numbers what such
-- a session sees in the place of memory, and is not used again. at is when it was shared, in µs since the epoch.
CREATE TABLE shared_session (
  session INTEGER PRIMARY KEY REFERENCES named_session (session) ON DELETE CASCADE,
  slot    INTEGER NOT NULL UNIQUE,
  at      INTEGER NOT NULL
) STRICT;
