-- Old builds are removed: those of the same definition are looked for, and whether a run still shows the log of one.
CREATE INDEX environment_builds_by_definition ON environment_builds (workspace, definition);
CREATE INDEX run_environments_by_build ON run_environments (build) WHERE build IS NOT NULL;
