import type { CheckName } from './fault.js';

/** Something that must never be found: a statement that counts it, and what it is in words, after its number. */
export interface Rule {
  readonly check: CheckName;
  readonly found: string;
  readonly count: string;
}

/** NULL is none: without the first half it would be missing from a table that is empty. */
const missing = (column: string): string => `(${column} IS NOT NULL AND ${column} NOT IN (SELECT id FROM content))`;
/** Files and folders of memory; local files of a mount may outlive the folder that they lay in. */
const MEMORY = 'mount = 0 AND parent IS NOT NULL';

/** All that `session/`, `tree/` and `import/` rely on between rows, and that no constraint of a table says. */
export const RULES: readonly Rule[] = [
  {
    check: 'files',
    found: 'files whose content is not there',
    count: `SELECT count(*) FROM node WHERE ${missing('content')}`,
  },
  {
    check: 'files',
    found: 'files of another size than their content',
    count: 'SELECT count(*) FROM node n JOIN content c ON c.id = n.content WHERE n.mount = 0 AND n.size <> c.size',
  },
  {
    check: 'files',
    found: 'folders with a content',
    count: "SELECT count(*) FROM node WHERE kind = 'directory' AND content IS NOT NULL",
  },
  {
    check: 'files',
    found: 'memory folders without a root',
    count: `SELECT count(*) FROM tree t LEFT JOIN node n ON n.id = t.root
      WHERE n.id IS NULL OR n.kind <> 'directory' OR n.parent IS NOT NULL OR n.tree <> t.id`,
  },
  {
    check: 'files',
    found: 'files that lie in no folder of their memory',
    count: `SELECT count(*) FROM node n LEFT JOIN node p ON p.id = n.parent
      WHERE n.mount = 0 AND n.parent IS NOT NULL AND (p.id IS NULL OR p.kind <> 'directory' OR p.tree <> n.tree)`,
  },
  {
    check: 'files',
    found: 'files that cannot be reached from the root, such as folders in a circle',
    count: `WITH RECURSIVE reached (id) AS (SELECT root FROM tree
        UNION SELECT n.id FROM node n JOIN reached r ON n.parent = r.id WHERE n.mount = 0)
      SELECT count(*) FROM node WHERE ${MEMORY} AND id NOT IN (SELECT id FROM reached)
        AND parent IN (SELECT id FROM node)`,
  },
  {
    check: 'files',
    found: 'files without a name that a file can have',
    count: `SELECT count(*) FROM node WHERE parent IS NOT NULL
      AND (name IS NULL OR name IN ('', '.', '..') OR instr(name, '/') > 0 OR length(CAST(name AS BLOB)) > 255)`,
  },
  {
    check: 'versions',
    found: 'versions whose content is not there',
    count: `SELECT count(*) FROM version WHERE ${missing('content')} OR ${missing('base')} OR ${missing('written')}`,
  },
  {
    check: 'versions',
    found: 'unsaved files whose beginning is not there',
    count: `SELECT count(*) FROM draft WHERE ${missing('base')} OR ${missing('first')}`,
  },
  {
    check: 'versions',
    found: 'records of imports whose content is not there',
    count: `SELECT count(*) FROM import_base WHERE (${missing('sent')} AND sent NOT IN (SELECT id FROM purged))
      OR (${missing('stored')} AND stored NOT IN (SELECT id FROM purged))`,
  },
  {
    check: 'rows',
    found: 'numbers that would be given out twice',
    count: `SELECT count(*) FROM (SELECT id FROM node UNION ALL SELECT id FROM content UNION ALL SELECT id FROM draft
        UNION ALL SELECT id FROM tree UNION ALL SELECT id FROM session UNION ALL SELECT id FROM mount UNION ALL SELECT id FROM purged)
      WHERE id >= coalesce((SELECT value FROM meta WHERE key = 'next_id' AND typeof(value) = 'integer'), 0)`,
  },
  {
    check: 'rows',
    found: 'digests of a wrong length',
    count: `SELECT (SELECT count(*) FROM content WHERE length(sha256) <> 32) + (SELECT count(*) FROM purged WHERE length(sha256) <> 32)
      + (SELECT count(*) FROM import_dispute WHERE length(sent) <> 32 OR length(stored) NOT IN (0, 32))`,
  },
  {
    check: 'rows',
    found: 'notes of the program that cannot be read',
    count: `SELECT (SELECT count(*) FROM secret_scan WHERE NOT json_valid(findings))
      + (SELECT count(*) FROM applied WHERE came_to IS NOT NULL AND NOT json_valid(came_to))`,
  },
];
