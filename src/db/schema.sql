-- The database at a glance. A test proves that all migrations together give exactly this.
-- Times are microseconds since 1970 (UTC), digests are 32-byte blobs, *_json are the forms of db/columns.h.
-- An index on a table with an INTEGER PRIMARY KEY ends with that key by itself: runs_by_workspace is in fact
-- (workspace, archived, sequence), which is what "newest first" walks.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,          -- 'stopped': 'clean' or 'dirty'
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE workspaces (
  name            TEXT PRIMARY KEY,
  subscription_id TEXT NOT NULL,
  resource_group  TEXT NOT NULL,
  created         INTEGER NOT NULL
) STRICT;

CREATE TABLE experiments (
  id        INTEGER PRIMARY KEY,
  workspace TEXT NOT NULL REFERENCES workspaces(name),
  name      TEXT NOT NULL,
  created   INTEGER NOT NULL,
  run_count INTEGER NOT NULL DEFAULT 0,  -- kept with every insert and delete of a run: a list never counts
  last_run  INTEGER,                     -- sequence of its newest run
  UNIQUE (workspace, name)
) STRICT;
CREATE INDEX experiments_by_workspace ON experiments (workspace);

CREATE TABLE computes (
  workspace    TEXT NOT NULL REFERENCES workspaces(name),
  name         TEXT NOT NULL,
  provider     TEXT NOT NULL,
  vm_size      TEXT NOT NULL,
  min_nodes    INTEGER NOT NULL,
  max_nodes    INTEGER NOT NULL,
  idle_seconds INTEGER NOT NULL,
  low_priority INTEGER NOT NULL,
  created      INTEGER NOT NULL,
  PRIMARY KEY (workspace, name)
) STRICT;

CREATE TABLE runs (
  sequence       INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  workspace      TEXT NOT NULL REFERENCES workspaces(name),
  experiment     TEXT NOT NULL,
  compute        TEXT NOT NULL,
  state          TEXT NOT NULL,
  terminal       INTEGER NOT NULL,
  generation     INTEGER NOT NULL,
  spec_json      TEXT NOT NULL,
  spec_digest    BLOB NOT NULL,      -- same id, same digest: the same submit; later tag changes do not touch it
  snapshot       BLOB,
  attempt        INTEGER NOT NULL,
  infrastructure_failures INTEGER NOT NULL,
  user_failures  INTEGER NOT NULL,
  notes_json     TEXT NOT NULL,
  error_code     TEXT,
  error_message  TEXT,
  usage_json     TEXT NOT NULL,
  created        INTEGER NOT NULL,
  late           INTEGER NOT NULL,   -- created before an earlier run: a clock went back. All others are in order of time
  started        INTEGER,
  ended          INTEGER,
  archived       INTEGER NOT NULL,
  submitted_by   TEXT NOT NULL,
  parent         TEXT,               -- id of the run that it belongs to; a run with children is never deleted without them
  root           TEXT,               -- id of the first of its ancestors
  run_type       TEXT,
  error_details  TEXT
) STRICT;
CREATE INDEX runs_by_workspace ON runs (workspace, archived);
CREATE INDEX runs_by_experiment ON runs (workspace, experiment, archived);
CREATE INDEX runs_by_state ON runs (workspace, state, archived);
CREATE INDEX runs_by_experiment_state ON runs (workspace, experiment, state, archived);
CREATE INDEX runs_in_order ON runs (workspace, created) WHERE late = 0;
CREATE INDEX runs_late ON runs (workspace, created) WHERE late = 1;
CREATE INDEX runs_live ON runs (sequence) WHERE terminal = 0;
CREATE INDEX runs_live_by_submitter ON runs (submitted_by) WHERE terminal = 0;
CREATE INDEX runs_by_snapshot ON runs (snapshot, workspace) WHERE snapshot IS NOT NULL;
CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_by_type ON runs (workspace, run_type) WHERE run_type IS NOT NULL;

-- The tags of spec_json once more, to find runs by them.
CREATE TABLE run_tags (
  run       INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  key       TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_tags_by_value ON run_tags (key, value, run);
CREATE INDEX run_tags_by_key ON run_tags (key, run);

-- The same for properties.
CREATE TABLE run_properties (
  run       INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  key       TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_properties_by_value ON run_properties (key, value, run);
CREATE INDEX run_properties_by_key ON run_properties (key, run);

-- What the client says that the run is: its own JSON, apart from the run because it may be large.
CREATE TABLE run_definitions (
  run        INTEGER PRIMARY KEY REFERENCES runs(sequence) ON DELETE CASCADE,
  definition TEXT NOT NULL
) STRICT;

-- The metric journals of a run and how much of each is here: what makes every line arrive exactly once.
CREATE TABLE metric_sources (
  run     INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  source  TEXT NOT NULL,
  offset  INTEGER NOT NULL,        -- the first byte not yet here; always the begin of a line
  lines   INTEGER NOT NULL,        -- lines before it
  skipped INTEGER NOT NULL,        -- of these, lines that were no records
  PRIMARY KEY (run, source)
) STRICT, WITHOUT ROWID;

-- Metric records as JSON lines, in the order in which they came (docs/formats/metrics.md).
CREATE TABLE metric_blocks (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  run     INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  records INTEGER NOT NULL,
  size    INTEGER NOT NULL,        -- of the lines; `bytes` may be smaller
  packed  INTEGER NOT NULL,        -- 1: zstd
  bytes   BLOB NOT NULL
) STRICT;
CREATE INDEX metric_blocks_by_run ON metric_blocks (run);

-- Which blocks hold a name.
CREATE TABLE metric_names (
  run   INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  name  TEXT NOT NULL,
  block INTEGER NOT NULL,
  PRIMARY KEY (run, name, block)
) STRICT, WITHOUT ROWID;

-- Encrypted (docs/formats/secrets.md); the key named by key_id is in a file elsewhere.
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

CREATE TABLE attempts (
  run          INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  number       INTEGER NOT NULL,
  token_hash   BLOB NOT NULL UNIQUE,
  slices_json  TEXT NOT NULL,
  placed       INTEGER NOT NULL,
  claimed      INTEGER,
  ended        INTEGER,
  stop_asked   INTEGER NOT NULL,
  stop_reason  TEXT NOT NULL,      -- why it was asked to stop, 'none' when it was not
  exit_json    TEXT,
  PRIMARY KEY (run, number)
) STRICT;

-- Which nodes of a gang have had a runner that claimed: after a restart, one that has not may still be started.
CREATE TABLE node_claims (
  run       INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  attempt   INTEGER NOT NULL,
  node      INTEGER NOT NULL,
  PRIMARY KEY (run, attempt, node)
) STRICT, WITHOUT ROWID;

-- How the nodes of a gang ended, until the attempt as a whole has its exit.
CREATE TABLE node_exits (
  run       INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  attempt   INTEGER NOT NULL,
  node      INTEGER NOT NULL,
  exit_json TEXT NOT NULL,
  PRIMARY KEY (run, attempt, node)
) STRICT, WITHOUT ROWID;

-- Sealed pieces of a log, in order; the live end is a file of the state folder.
CREATE TABLE log_segments (
  run      INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  attempt  INTEGER NOT NULL,
  name     TEXT NOT NULL,
  number   INTEGER NOT NULL,
  offset   INTEGER NOT NULL,
  size     INTEGER NOT NULL,
  digest   BLOB NOT NULL,
  PRIMARY KEY (run, attempt, name, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifacts (
  run        INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  path       TEXT NOT NULL,
  digest     BLOB NOT NULL,
  size       INTEGER NOT NULL,
  executable INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  updated    INTEGER NOT NULL,
  PRIMARY KEY (run, path)
) STRICT, WITHOUT ROWID;

-- Every change of a run, in commit order; feeds the live stream (the id is the SSE id).
CREATE TABLE events (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace  TEXT NOT NULL,
  run        INTEGER,               -- no foreign key: 'deleted' outlives its run
  run_id     TEXT NOT NULL,
  kind       TEXT NOT NULL,         -- 'state', 'tags', 'artifacts', 'attempt', 'deleted', …
  from_state TEXT,
  to_state   TEXT,
  reason     TEXT NOT NULL,
  at         INTEGER NOT NULL
) STRICT;
CREATE INDEX events_by_run ON events (run);
CREATE INDEX events_by_workspace ON events (workspace);

CREATE TABLE tokens (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL,
  hash       BLOB NOT NULL UNIQUE,
  role       TEXT NOT NULL,
  workspace  TEXT NOT NULL,        -- '' for all
  created    INTEGER NOT NULL,
  expires    INTEGER,
  last_used  INTEGER,
  revoked    INTEGER
) STRICT;

-- Who did what; each row carries the hash of the one before it (docs/formats/database.md).
CREATE TABLE audit (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  actor    TEXT NOT NULL,
  token_id INTEGER NOT NULL,
  source   TEXT NOT NULL,
  action   TEXT NOT NULL,
  object   TEXT NOT NULL,
  detail   TEXT NOT NULL,
  hash     BLOB NOT NULL
) STRICT;

-- Where the old end of the trail was cut off: id and hash of the last row that was removed. At most one row; a row of the
-- action 'audit.trim' in the trail says the same.
CREATE TABLE audit_anchor (
  id   INTEGER PRIMARY KEY,
  hash BLOB NOT NULL
) STRICT;

-- Datastores that somebody made. The three that every workspace has are not rows: they cannot be lost.
CREATE TABLE datastores (
  workspace       TEXT NOT NULL REFERENCES workspaces(name),
  name            TEXT NOT NULL,
  kind            TEXT NOT NULL,      -- 'store', 'local', 'cloud'
  type            TEXT NOT NULL,
  path            TEXT NOT NULL,      -- local: the folder
  writable        INTEGER NOT NULL,
  definition_json TEXT NOT NULL,
  created         INTEGER NOT NULL,
  PRIMARY KEY (workspace, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE default_datastores (
  workspace TEXT PRIMARY KEY REFERENCES workspaces(name),
  datastore TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Files of datastores of kind 'store': names of blobs.
CREATE TABLE datastore_files (
  workspace TEXT NOT NULL REFERENCES workspaces(name),
  datastore TEXT NOT NULL,
  path      TEXT NOT NULL,
  digest    BLOB NOT NULL,
  size      INTEGER NOT NULL,
  modified  INTEGER NOT NULL,
  written_by TEXT,                   -- the run whose script or output it is; '' for a user's, NULL: not known
  PRIMARY KEY (workspace, datastore, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX datastore_files_by_digest ON datastore_files (digest, workspace);

-- Saved definitions; the id is made from the definition.
CREATE TABLE datasets (
  workspace       TEXT NOT NULL REFERENCES workspaces(name),
  id              TEXT NOT NULL,
  kind            TEXT NOT NULL,
  definition_json TEXT NOT NULL,
  created         INTEGER NOT NULL,
  tree            BLOB,               -- what its bytes were when they were last brought in
  files           INTEGER,
  bytes           INTEGER,
  PRIMARY KEY (workspace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX datasets_by_tree ON datasets (tree) WHERE tree IS NOT NULL;

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

-- What a URL gave when it was last fetched or revalidated.
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
  request_digest    BLOB NOT NULL,    -- same id, same digest: the same registration
  tree              BLOB NOT NULL,
  files             INTEGER NOT NULL,
  bytes             INTEGER NOT NULL,
  run               TEXT NOT NULL,
  framework         TEXT NOT NULL,
  description       TEXT NOT NULL,
  tags_json         TEXT NOT NULL,
  properties_json   TEXT NOT NULL,
  details_json      TEXT NOT NULL,    -- what nobody searches: resources, datasets, inspection, warnings
  created           INTEGER NOT NULL,
  created_by        TEXT NOT NULL,
  UNIQUE (workspace, name, version),
  UNIQUE (workspace, id)
) STRICT;
CREATE INDEX models_by_workspace ON models (workspace);
CREATE INDEX models_by_run ON models (workspace, run) WHERE run <> '';
CREATE INDEX models_by_tree ON models (tree);

-- The highest number that each name has used; it outlives the versions, so that none is given out twice.
CREATE TABLE version_counters (
  workspace TEXT NOT NULL REFERENCES workspaces(name),
  kind      TEXT NOT NULL,          -- 'model', 'dataset'
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

-- What each input of a run turned out to be, fixed before the run was queued.
CREATE TABLE run_inputs (
  run      INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  name     TEXT NOT NULL,
  tree     BLOB,                  -- NULL: read directly, or listed as it is read
  resolved TEXT NOT NULL,         -- JSON
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_inputs_by_tree ON run_inputs (tree) WHERE tree IS NOT NULL;

-- Definitions of environments that were asked for, by the digest of their canonical text without name and version: two
-- environments that differ in nothing else are locked and built once.
CREATE TABLE environment_definitions (
  digest          BLOB PRIMARY KEY,
  definition_json TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What a definition was resolved to. The document is a blob of the store.
CREATE TABLE environment_locks (
  workspace          TEXT NOT NULL REFERENCES workspaces(name),
  key                BLOB NOT NULL,     -- the definition's digest, or that of definition and source where it names files
  lock               BLOB NOT NULL,
  substitutions_json TEXT NOT NULL,
  locked             INTEGER NOT NULL,
  locked_by          TEXT NOT NULL,
  PRIMARY KEY (workspace, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX environment_locks_by_lock ON environment_locks (lock);

-- Blobs that a lock needs to be realised: the SDK, and wheels out of source folders.
CREATE TABLE environment_lock_files (
  lock   BLOB NOT NULL,
  digest BLOB NOT NULL,
  PRIMARY KEY (lock, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE environment_builds (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace          TEXT NOT NULL REFERENCES workspaces(name),
  environment        TEXT NOT NULL,     -- '' for a definition that is not registered
  version            TEXT NOT NULL,
  definition         BLOB NOT NULL REFERENCES environment_definitions(digest),
  key                BLOB NOT NULL,
  source             BLOB,              -- tree of the source folder, where the definition names files of it
  refresh            INTEGER NOT NULL,
  state              TEXT NOT NULL,     -- 'waiting', 'locking', 'building', 'ready', 'failed'
  lock               BLOB,
  substitutions_json TEXT NOT NULL,
  error_json         TEXT,
  log                BLOB,              -- a blob, when it is over; until then builds/ID.log
  log_bytes          INTEGER NOT NULL,
  created            INTEGER NOT NULL,
  started            INTEGER,
  ended              INTEGER,
  created_by         TEXT NOT NULL
) STRICT;
CREATE INDEX environment_builds_by_workspace ON environment_builds (workspace);
CREATE INDEX environment_builds_live ON environment_builds (id) WHERE ended IS NULL;
CREATE INDEX environment_builds_by_definition ON environment_builds (workspace, definition);

-- The environment of a run that Lathe builds, fixed at its submit; the lock follows before it is queued.
CREATE TABLE run_environments (
  run                INTEGER PRIMARY KEY REFERENCES runs(sequence) ON DELETE CASCADE,
  name               TEXT NOT NULL,
  version            TEXT NOT NULL,
  definition         BLOB NOT NULL REFERENCES environment_definitions(digest),
  lock               BLOB,
  build              INTEGER,           -- the one that the run waited for
  substitutions_json TEXT NOT NULL
) STRICT;
CREATE INDEX run_environments_by_lock ON run_environments (lock) WHERE lock IS NOT NULL;
CREATE INDEX run_environments_by_build ON run_environments (build) WHERE build IS NOT NULL;

-- Who may what: the hash of the token that an attempt's script has (none: of a release that gave it the runner's),
CREATE TABLE script_tokens (
  run       INTEGER NOT NULL REFERENCES runs(sequence) ON DELETE CASCADE,
  attempt   INTEGER NOT NULL,
  hash      BLOB NOT NULL,
  PRIMARY KEY (run, attempt)
) STRICT, WITHOUT ROWID;

-- runs that were deleted, so that a submit that was under way for a long time does not begin one again,
CREATE TABLE deleted_runs (
  id      TEXT PRIMARY KEY,
  deleted INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_runs_by_time ON deleted_runs (deleted);

-- and blobs whose bytes came with a token that is limited to this workspace: it may name and read them.
CREATE TABLE sent_blobs (
  workspace TEXT NOT NULL REFERENCES workspaces(name),
  digest    BLOB NOT NULL,
  sent      INTEGER NOT NULL,
  PRIMARY KEY (workspace, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX sent_blobs_by_time ON sent_blobs (sent);
