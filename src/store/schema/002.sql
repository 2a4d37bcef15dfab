-- Of a version of kind merged: what the session's text was merged against (NULL when nothing was), and what the session
-- wrote. NULL for every other kind. Both are contents.
ALTER TABLE version ADD COLUMN base INTEGER;
ALTER TABLE version ADD COLUMN written INTEGER;

-- What a session last wrote is what it knew last, too, so one column says both.
ALTER TABLE served DROP COLUMN wrote;

-- Contents that were purged, and that an import base still names: enough to tell that a file was not changed since, and
-- no byte of it. The id is that of the content, which has it again when somebody saves the same bytes.
CREATE TABLE purged (
  id     INTEGER PRIMARY KEY,
  size   INTEGER NOT NULL,
  sha256 BLOB NOT NULL UNIQUE
) STRICT;
