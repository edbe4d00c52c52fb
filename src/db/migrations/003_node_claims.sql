-- Which nodes of a gang have had a runner that claimed: after a restart, one that has not may still be started.
CREATE TABLE node_claims (
  run       INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  attempt   INTEGER NOT NULL,
  node      INTEGER NOT NULL,
  PRIMARY KEY (run, attempt, node)
) STRICT, WITHOUT ROWID;
