
-- The path in the tree of what was exchanged under another one: the same name in another Unicode form.
ALTER TABLE import_base ADD COLUMN file TEXT;

-- Two contents that an import could not merge, by SHA-256: what lay in the folder, and what the store had. Until one of
-- them changes, the next import names the conflict again. Rows keep no content.
CREATE TABLE import_dispute (
  machine INTEGER NOT NULL,
  folder  TEXT NOT NULL,
  tree    INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
  path    TEXT NOT NULL,
  sent    BLOB NOT NULL,
  stored  BLOB NOT NULL, -- empty when what was sent was purged
  file    TEXT,          -- as in import_base
  PRIMARY KEY (machine, folder, tree, path)
) STRICT, WITHOUT ROWID;

-- Of a path: the remote that its checkout had when a person said which project it belongs to. While it has that remote,
-- the path overrules it. NULL where nobody said anything, or there was no remote.
ALTER TABLE project_alias ADD COLUMN settled TEXT;

-- What a scan of a content for secrets found: pairs of rule and line, in JSON, and never what stands there. scanner tells
-- the rules; what others found counts no more. Goes with the content.
CREATE TABLE secret_scan (
  content  INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE,
  scanner  TEXT NOT NULL,
  findings TEXT NOT NULL
) STRICT;
