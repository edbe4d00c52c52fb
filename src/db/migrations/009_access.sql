-- The hash of the token that an attempt's script has. An attempt without a row is of a release that gave its one token
-- to runner and script.
CREATE TABLE script_tokens (
  run       INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  attempt   INTEGER NOT NULL,
  hash      BLOB NOT NULL,
  PRIMARY KEY (run, attempt)
) STRICT, WITHOUT ROWID;

-- Ids of runs that were deleted: a submit that was under way for a long time must not begin one again.
CREATE TABLE deleted_runs (
  id      TEXT PRIMARY KEY,
  deleted INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_runs_by_time ON deleted_runs (deleted);

-- Blobs whose bytes came with a token that is limited to this workspace: such a token may name and read them.
CREATE TABLE sent_blobs (
  workspace TEXT NOT NULL REFERENCES workspaces(name),
  digest    BLOB NOT NULL,
  sent      INTEGER NOT NULL,
  PRIMARY KEY (workspace, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX sent_blobs_by_time ON sent_blobs (sent);

-- The run whose script or output a file of a datastore is; '' for a user's, NULL from before this was kept.
ALTER TABLE datastore_files ADD COLUMN written_by TEXT;

-- Which workspace names a blob or a tree.
CREATE INDEX datastore_files_by_digest ON datastore_files (digest, workspace);
DROP INDEX runs_by_snapshot;
CREATE INDEX runs_by_snapshot ON runs (snapshot, workspace) WHERE snapshot IS NOT NULL;
CREATE INDEX run_inputs_by_tree ON run_inputs (tree) WHERE tree IS NOT NULL;
CREATE INDEX datasets_by_tree ON datasets (tree) WHERE tree IS NOT NULL;
CREATE INDEX models_by_tree ON models (tree);
