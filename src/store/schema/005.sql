-- Sessions that have a name: those that `mend run` starts. While ended is NULL, no other session has the name. chosen is 1
-- once a person has named it: what it knows is then kept for longer. begun_in is the session whose process began it,
-- NULL for none. last is when a program of it was last started, or ended.
CREATE TABLE named_session (
  session  INTEGER PRIMARY KEY REFERENCES session (id),
  name     TEXT NOT NULL,
  chosen   INTEGER NOT NULL,
  harness  TEXT NOT NULL,
  project  INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  begun_in INTEGER,
  began    INTEGER NOT NULL,
  last     INTEGER NOT NULL,
  ended    INTEGER
) STRICT;
CREATE UNIQUE INDEX named_session_name ON named_session (name) WHERE ended IS NULL;
CREATE INDEX named_session_project ON named_session (project);

-- Processes that belong to a named session with all that they start: `mend run` itself, the program that it started, and
-- what was left of that when it ended. space names a boot of a machine and a PID namespace. start is in clock ticks since boot.
CREATE TABLE session_process (
  space   TEXT NOT NULL,
  pid     INTEGER NOT NULL,
  start   INTEGER NOT NULL,
  session INTEGER NOT NULL REFERENCES named_session (session) ON DELETE CASCADE,
  role    TEXT NOT NULL CHECK (role IN ('runner', 'program', 'left')),
  PRIMARY KEY (space, pid)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_process_session ON session_process (session);
