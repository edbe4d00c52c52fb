// The blobs that locks name, and handing them to a build as files.
#pragma once

#include <filesystem>
#include <vector>

#include "envs/lock.h"
#include "server/core.h"

namespace lathe::server {

// What a lock needs beside itself, for as long as it is named: the SDK, and wheels out of source folders.
std::vector<base::Digest> lock_files(const envs::Lock& lock);
// The document and, where the lock names it, this server's SDK, durably.
rt::Task<void> keep_lock_blobs(Core& core, envs::Lock lock);

// Files of one build, in a folder that goes with this.
class BuildFiles {
 public:
  BuildFiles(cas::BlobStore& store, std::filesystem::path folder);
  ~BuildFiles();
  BuildFiles(const BuildFiles&) = delete;
  // From any thread: the blob as a file of this name.
  base::Result<std::filesystem::path> fetch(const base::Digest& digest, const std::string& name) const;

 private:
  cas::BlobStore& store_;
  std::filesystem::path folder_;
};

}  // namespace lathe::server
