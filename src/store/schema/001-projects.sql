CREATE TABLE machine (
  id INTEGER PRIMARY KEY,
  machine_id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL
) STRICT;

CREATE TABLE project (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created INTEGER NOT NULL -- microseconds since the epoch
) STRICT;

CREATE TABLE project_alias (
  kind TEXT NOT NULL CHECK (kind IN ('remote', 'path')),
  machine INTEGER NOT NULL DEFAULT 0, -- 0 for a remote that means the same on every machine
  value TEXT NOT NULL,
  project INTEGER NOT NULL REFERENCES project (id) ON DELETE CASCADE,
  PRIMARY KEY (kind, machine, value)
) STRICT, WITHOUT ROWID;

CREATE INDEX project_alias_project ON project_alias (project);
