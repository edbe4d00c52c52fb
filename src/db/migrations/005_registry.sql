-- Datastores that somebody made. The three that every workspace has are not rows: they cannot be lost.
CREATE TABLE datastores (
  workspace       TEXT NOT NULL REFERENCES workspaces(name),
  name            TEXT NOT NULL,
  kind            TEXT NOT NULL,
  type            TEXT NOT NULL,
  path            TEXT NOT NULL,
  writable        INTEGER NOT NULL,
  definition_json TEXT NOT NULL,
  created         INTEGER NOT NULL,
  PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE default_datastores (
  workspace TEXT PRIMARY KEY REFERENCES workspaces(name),
  datastore TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE datastore_files (
  workspace TEXT NOT NULL REFERENCES workspaces(name),
  datastore TEXT NOT NULL,
  path      TEXT NOT NULL,
  digest    BLOB NOT NULL,
  size      INTEGER NOT NULL,
  modified  INTEGER NOT NULL,
  PRIMARY KEY (workspace, datastore, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE datasets (
  workspace       TEXT NOT NULL REFERENCES workspaces(name),
  id              TEXT NOT NULL,
  kind            TEXT NOT NULL,
  definition_json TEXT NOT NULL,
  created         INTEGER NOT NULL,
  tree            BLOB,
  files           INTEGER,
  bytes           INTEGER,
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE dataset_versions (
  sequence    INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace   TEXT NOT NULL REFERENCES workspaces(name),
  name        TEXT NOT NULL,
  version     INTEGER NOT NULL,
  dataset     TEXT NOT NULL,
  description TEXT NOT NULL,
  tags_json   TEXT NOT NULL,
  created     INTEGER NOT NULL,
  created_by  TEXT NOT NULL,
  UNIQUE (workspace, name, version),
  FOREIGN KEY (workspace, dataset) REFERENCES datasets(workspace, id)
) STRICT;
CREATE INDEX dataset_versions_by_dataset ON dataset_versions (workspace, dataset);

CREATE TABLE url_cache (
  url           TEXT PRIMARY KEY,
  etag          TEXT NOT NULL,
  last_modified TEXT NOT NULL,
  digest        BLOB NOT NULL,
  size          INTEGER NOT NULL,
  fetched       INTEGER NOT NULL,
  checked       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE models (
  sequence          INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace         TEXT NOT NULL REFERENCES workspaces(name),
  name              TEXT NOT NULL,
  version           INTEGER NOT NULL,
  id                TEXT NOT NULL,
  request_digest    BLOB NOT NULL,
  tree              BLOB NOT NULL,
  files             INTEGER NOT NULL,
  bytes             INTEGER NOT NULL,
  run               TEXT NOT NULL,
  framework         TEXT NOT NULL,
  description       TEXT NOT NULL,
  tags_json         TEXT NOT NULL,
  properties_json   TEXT NOT NULL,
  details_json      TEXT NOT NULL,
  created           INTEGER NOT NULL,
  created_by        TEXT NOT NULL,
  UNIQUE (workspace, name, version),
  UNIQUE (workspace, id)
) STRICT;
CREATE INDEX models_by_workspace ON models (workspace);
CREATE INDEX models_by_run ON models (workspace, run) WHERE run <> '';

-- The highest number that each name has used; it outlives the versions, so that none is given out twice.
CREATE TABLE version_counters (
  workspace TEXT NOT NULL REFERENCES workspaces(name),
  kind      TEXT NOT NULL,
  name      TEXT NOT NULL,
  last      INTEGER NOT NULL,
  PRIMARY KEY (workspace, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE environments (
  workspace       TEXT NOT NULL REFERENCES workspaces(name),
  name            TEXT NOT NULL,
  version         INTEGER NOT NULL,
  definition_json TEXT NOT NULL,
  digest          BLOB NOT NULL,
  created         INTEGER NOT NULL,
  created_by      TEXT NOT NULL,
  PRIMARY KEY (workspace, name, version)
) STRICT, WITHOUT ROWID;
