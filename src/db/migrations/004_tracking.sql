ALTER TABLE runs ADD COLUMN parent TEXT;
ALTER TABLE runs ADD COLUMN root TEXT;
ALTER TABLE runs ADD COLUMN run_type TEXT;
ALTER TABLE runs ADD COLUMN error_details TEXT;
CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_by_type ON runs (workspace, run_type) WHERE run_type IS NOT NULL;

CREATE TABLE run_properties (
  run       INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  key       TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_properties_by_value ON run_properties (key, value, run);
CREATE INDEX run_properties_by_key ON run_properties (key, run);
INSERT INTO run_properties (run, key, value)
  SELECT runs.sequence, each.key, each.value FROM runs, json_each(runs.spec_json, '$.properties') AS each;

CREATE TABLE run_definitions (
  run        INTEGER PRIMARY KEY REFERENCES runs(sequence) ON DELETE CASCADE,
  definition TEXT NOT NULL
) STRICT;

CREATE TABLE metric_sources (
  run     INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  source  TEXT NOT NULL,
  offset  INTEGER NOT NULL,
  lines   INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  PRIMARY KEY (run, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric_blocks (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  run     INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  records INTEGER NOT NULL,
  size    INTEGER NOT NULL,
  packed  INTEGER NOT NULL,
  bytes   BLOB NOT NULL
) STRICT;
CREATE INDEX metric_blocks_by_run ON metric_blocks (run);

CREATE TABLE metric_names (
  run   INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  name  TEXT NOT NULL,
  block INTEGER NOT NULL,
  PRIMARY KEY (run, name, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
  workspace   TEXT NOT NULL REFERENCES workspaces(name),
  name        TEXT NOT NULL,
  key_id      TEXT NOT NULL,
  wrapped_key BLOB NOT NULL,
  sealed      BLOB NOT NULL,
  created     INTEGER NOT NULL,
  updated     INTEGER NOT NULL,
  PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;
