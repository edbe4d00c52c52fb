// What the callbacks of libfuse work with, and the table of them.
#pragma once

#include "mount/chunk_cache.h"
#include "mount/file_tree.h"
#include "mount/fuse_library.h"
#include "mount/read_ahead.h"

namespace lathe::mount {

struct FuseState {
  const FuseLibrary& fuse;
  FileTree& tree;
  ChunkCache& cache;
  ReadAhead& ahead;
  timespec time{};  // of every file: content has no time of its own
  fuse_session* session = nullptr;
};

const fuse_lowlevel_ops& fuse_operations();

}  // namespace lathe::mount
