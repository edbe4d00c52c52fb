// Trees as the server uses them: read, checked to be complete, and named by a run only then. Home thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cas/blob_store.h"
#include "cas/tree.h"
#include "rt/async_mutex.h"
#include "server/core.h"

namespace lathe::server {

rt::Task<cas::Tree> read_tree(Core& core, base::Digest digest);
// Each file's blob once, in the order of the tree.
std::vector<cas::BlobInfo> distinct_blobs(const cas::Tree& tree);

// Which trees are all here. A tree that was found complete a moment ago is not looked at again until a blob leaves the
// store: whoever submits the same folder again and again pays for its files once.
class TreeChecks {
 public:
  explicit TreeChecks(Core& core) : core_(core), reading_(core.home) {}
  // What the tree lacks, as the end of a sentence about it; nothing when it is complete.
  rt::Task<std::optional<std::string>> find_gap(base::Digest digest);
  // Refuses (invalid, field "snapshot") a tree that is not here or lacks a blob, so that no run ever names one; and one
  // that does not hold `script`, when that is not empty (field "script").
  rt::Task<void> require_complete(base::Digest digest, std::string script);
  // Refuses a blob that is no tree manifest, as decode_tree() does. Looked at once, and never held in memory.
  rt::Task<void> require_tree(base::Digest digest, const cas::BlobFile& blob);
  // Each file's blob once. Readers of the same tree share one list.
  using Blobs = std::shared_ptr<const std::vector<cas::BlobInfo>>;
  rt::Task<Blobs> blobs_of(base::Digest digest);

 private:
  struct Checked {
    std::uint64_t removals = 0;  // of the store, before the check
    base::SteadyTime at;
  };
  Core& core_;
  std::unordered_map<base::Digest, Checked> complete_;
  std::unordered_set<base::Digest> are_trees_;
  std::unordered_map<base::Digest, std::weak_ptr<const std::vector<cas::BlobInfo>>> blobs_;
  rt::AsyncMutex reading_;  // one manifest at a time: many readers of one wait for its first, and the memory is bounded
};

}  // namespace lathe::server
