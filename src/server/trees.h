// Trees as the server uses them: read, checked to be complete, and named by a run only then.
#pragma once

#include <cstdint>
#include <vector>

#include "cas/blob_store.h"
#include "cas/tree.h"
#include "server/core.h"

namespace lathe::server {

inline constexpr std::uint64_t kMaxTreeBytes = 1u << 30;

rt::Task<cas::Tree> read_tree(Core& core, base::Digest digest);
// Each file's blob once, in the order of the tree.
std::vector<cas::BlobInfo> distinct_blobs(const cas::Tree& tree);
// Refuses (invalid, field "snapshot") a tree that is not here or lacks a blob, so that no run ever names one; and one
// that does not hold `script`, when that is not empty (field "script").
rt::Task<void> require_complete_tree(Core& core, base::Digest digest, const std::string& script);

}  // namespace lathe::server
