-- What each input of a run turned out to be, fixed before the run was queued.
CREATE TABLE run_inputs (
  run      INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  name     TEXT NOT NULL,
  tree     BLOB,                  -- NULL: read directly, or listed as it is read
  resolved TEXT NOT NULL,         -- JSON
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
