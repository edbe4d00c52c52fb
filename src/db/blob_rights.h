// Which blobs and trees a workspace has to do with, for tokens that are limited to one: what it names, and what was sent
// with such a token (`sent_blobs`, kept for 30 days after the last time).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/time.h"
#include "db/sqlite.h"

namespace lathe::db::blob_rights {

// Forgets what was sent long ago as well.
void note_sent(Connection& connection, std::string_view workspace, std::span<const base::Digest> digests,
               base::UtcTime now);
bool was_sent(Connection& connection, std::string_view workspace, const base::Digest& digest);

// Whether the workspace names this tree: as a snapshot, an input, a dataset's content or a model. All that such a tree
// holds was checked when it was named.
bool names_tree(Connection& connection, std::string_view workspace, const base::Digest& tree);
bool names_lock(Connection& connection, std::string_view workspace, const base::Digest& lock);
// Whether a file of one of its datastores has these bytes.
bool names_file(Connection& connection, std::string_view workspace, const base::Digest& digest);

// The snapshot of a run and the trees of its inputs.
std::vector<base::Digest> trees_of_run(Connection& connection, std::string_view run);
// Whether the environment of the run is made of this lock, or needs this blob.
bool needs_for_environment(Connection& connection, std::string_view run, const base::Digest& digest);

}  // namespace lathe::db::blob_rights
