-- Names that memory left, each with the newest row that the feed had by then: a kernel may still know them when the process
-- that was to tell it has died.
CREATE TABLE vacated (
  seq    INTEGER NOT NULL,
  node   INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  name   TEXT NOT NULL
) STRICT;
CREATE INDEX vacated_seq ON vacated (seq);
CREATE TRIGGER node_moved AFTER UPDATE OF parent, name ON node
WHEN OLD.mount = 0 AND OLD.parent IS NOT NULL AND (NEW.parent IS NOT OLD.parent OR NEW.name IS NOT OLD.name)
BEGIN
  INSERT INTO vacated SELECT coalesce(max(seq), 0), OLD.id, OLD.parent, OLD.name FROM change;
END;
CREATE TRIGGER node_deleted AFTER DELETE ON node
WHEN OLD.mount = 0 AND OLD.parent IS NOT NULL
BEGIN
  INSERT INTO vacated SELECT coalesce(max(seq), 0), OLD.id, OLD.parent, OLD.name FROM change;
END;
