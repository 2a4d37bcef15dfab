-- Requests of kernels that changed something and may not have been answered yet: when the process that applied one dies
-- before it answers, its successor is sent the request again, and must not apply it twice. A slot is used again once its
-- request is answered. request is the kernel's number of it; came_to is JSON: what the answer needs to know of the change.
CREATE TABLE applied (
  mount   INTEGER NOT NULL,
  slot    INTEGER NOT NULL,
  request INTEGER NOT NULL,
  came_to TEXT,
  PRIMARY KEY (mount, slot)
) STRICT, WITHOUT ROWID;

-- The modification time that a write gave its draft, µs since the epoch; NULL for rows of earlier schemas.
ALTER TABLE draft_write ADD COLUMN at INTEGER;
