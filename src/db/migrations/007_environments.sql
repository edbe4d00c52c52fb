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
