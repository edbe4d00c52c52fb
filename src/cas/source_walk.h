// Walking a source folder: which files and links belong to its snapshot. Obeys .amlignore files, or .gitignore files
// where the root has no .amlignore; leaves out .git; reads no file but those. Refuses, naming the entry, what a
// snapshot cannot hold. Many folders side by side are looked at by a few threads; each holds one descriptor besides the
// root's, whatever the depth.
#pragma once

#include "cas/stat_cache.h"
#include "cas/tree.h"
#include "sys/file_system.h"

namespace lathe::cas {

// Side by side, as a Snapshot keeps them.
struct FoundFiles {
  std::vector<TreeEntry> entries;  // a file's digest is not set yet
  std::vector<FileStamp> stamps;
};

struct SourceLimits {
  std::size_t entries = kMaxTreeEntries;
  std::size_t depth = kMaxPathParts;
};

// Sorted as a Tree is. Entries that vanish while the walk goes on are left out.
base::Result<FoundFiles> walk_source(int root_fd, const SourceLimits& limits);

}  // namespace lathe::cas
