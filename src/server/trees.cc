#include "server/trees.h"

#include <algorithm>
#include <unordered_set>

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

Task<cas::Tree> read_tree(Core& core, base::Digest digest) {
  co_return co_await core.files.run(core.home, [&] {
    auto bytes = base::value_or_throw(core.store.read(digest, kMaxTreeBytes));
    return base::value_or_throw(cas::decode_tree(bytes));
  });
}

std::vector<cas::BlobInfo> distinct_blobs(const cas::Tree& tree) {
  std::unordered_set<base::Digest> seen;
  std::vector<cas::BlobInfo> blobs;
  for (const auto& entry : tree.entries)
    if (entry.link_target.empty() && seen.insert(entry.digest).second) blobs.push_back({entry.digest, entry.size});
  return blobs;
}

Task<void> require_complete_tree(Core& core, base::Digest digest, const std::string& script) {
  co_await core.files.run(core.home, [&] {
    auto refuse = [&](const std::string& what) {
      return Error(Code::invalid, fmt::format("the snapshot {} {}", digest.hex(), what)).field("snapshot")
          .hint("ask POST /api/v1/blobs/missing and send what is missing before the submit");
    };
    if (!core.store.find(digest)) throw refuse("is not in the store");
    auto bytes = core.store.read(digest, kMaxTreeBytes);
    if (!bytes) throw std::move(bytes.error()).field("snapshot");
    auto tree = cas::decode_tree(*bytes);
    if (!tree) throw refuse("is not a tree manifest");
    if (!script.empty() && std::ranges::none_of(tree->entries, [&](const auto& entry) { return entry.path == script; }))
      throw Error(Code::invalid, fmt::format("the snapshot has no script '{}'", script)).field("script")
          .hint("the path is relative to the source folder; does an ignore file leave it out?");
    for (const auto& blob : distinct_blobs(*tree)) {
      auto size = core.store.find(blob.digest);
      if (!size) throw refuse(fmt::format("names the blob {}, which is not in the store", blob.digest.hex()));
      if (*size != blob.size) throw refuse(fmt::format("gives the blob {} a wrong size", blob.digest.hex()));
    }
  });
}

}  // namespace lathe::server
