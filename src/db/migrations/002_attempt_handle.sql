-- Never held anything: a provider finds its tasks again by their folders, which are named after run, attempt and node.
ALTER TABLE attempts DROP COLUMN handle;
