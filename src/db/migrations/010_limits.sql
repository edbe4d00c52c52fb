-- A site may limit how many runs of one token are not over.
CREATE INDEX runs_live_by_submitter ON runs (submitted_by) WHERE terminal = 0;

-- The audit trail may be cut at its old end: what the first row that is left was chained to. At most one row; the trail
-- itself says, in a row of the action 'audit.trim', where it was cut, so that this table cannot be made up.
CREATE TABLE audit_anchor (
  id   INTEGER PRIMARY KEY,         -- of the last row that was removed
  hash BLOB NOT NULL                -- of that row
) STRICT;
