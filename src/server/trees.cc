#include "server/trees.h"

#include <unistd.h>

#include <algorithm>

#include "cas/tree_checker.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;

namespace {

// Far below the usual lease, so that what is trusted is also leased.
constexpr base::Duration kTrusted = std::chrono::minutes(10);
constexpr std::size_t kRemembered = 1024;

// On the pool.
std::optional<std::string> look_for_gap(cas::DiskStore& store, const base::Digest& digest) {
  if (!store.find(digest)) return "is not in the store";
  auto bytes = store.read(digest, cas::kMaxTreeBytes);
  if (!bytes) throw std::move(bytes.error()).field("snapshot");
  auto tree = cas::decode_tree(*bytes);
  if (!tree) return fmt::format("is not a tree manifest: {}", tree.error().message());
  for (const auto& blob : distinct_blobs(*tree)) {
    auto size = store.find(blob.digest);
    if (!size) return fmt::format("names the blob {}, which is not in the store", blob.digest.hex());
    if (*size != blob.size) return fmt::format("gives the blob {} a wrong size", blob.digest.hex());
  }
  return std::nullopt;
}

// On a thread of the store.
void check_tree(int fd, std::uint64_t size) {
  cas::TreeChecker checker;
  std::string piece(256 * 1024, '\0');
  for (std::uint64_t offset = 0; offset < size;) {
    const auto count = ::pread(fd, piece.data(), piece.size(), static_cast<off_t>(offset));
    if (count < 0) throw base::errno_error(errno, "read a tree manifest");
    if (count == 0) throw Error(Code::io, "a tree manifest became shorter while it was read");
    base::value_or_throw(checker.feed(std::string_view(piece).substr(0, static_cast<std::size_t>(count))));
    offset += static_cast<std::uint64_t>(count);
  }
  base::value_or_throw(checker.finish());
}

}  // namespace

Task<cas::Tree> read_tree(Core& core, base::Digest digest) {
  co_return co_await core.files.run(core.home, [&] {
    auto bytes = base::value_or_throw(core.store.read(digest, cas::kMaxTreeBytes));
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

Task<std::optional<std::string>> TreeChecks::find_gap(base::Digest digest) {
  const auto removals = core_.store.removals();
  const auto now = core_.clock.steady();
  if (auto known = complete_.find(digest); known != complete_.end()) {
    if (known->second.removals == removals && now - known->second.at < kTrusted) co_return std::nullopt;
    complete_.erase(known);
  }
  auto gap = co_await core_.files.run(core_.home, [&] { return look_for_gap(core_.store, digest); });
  if (gap) co_return gap;
  if (complete_.size() >= kRemembered) complete_.clear();
  complete_[digest] = {removals, now};
  co_return std::nullopt;
}

Task<void> TreeChecks::require_tree(base::Digest digest, const cas::BlobFile& blob) {
  if (are_trees_.contains(digest)) co_return;
  auto turn = co_await reading_.lock();
  if (are_trees_.contains(digest)) co_return;
  co_await core_.store_work.run([&] { check_tree(blob.fd(), blob.size()); });
  // What a digest names never changes, so that this stays true.
  if (are_trees_.size() >= kRemembered) are_trees_.clear();
  are_trees_.insert(digest);
}

Task<TreeChecks::Blobs> TreeChecks::blobs_of(base::Digest digest) {
  if (auto known = blobs_[digest].lock()) co_return known;
  auto turn = co_await reading_.lock();
  if (auto known = blobs_[digest].lock()) co_return known;
  std::erase_if(blobs_, [](const auto& entry) { return entry.second.expired(); });
  auto blobs = std::make_shared<const std::vector<cas::BlobInfo>>(distinct_blobs(co_await read_tree(core_, digest)));
  blobs_[digest] = blobs;
  co_return blobs;
}

Task<void> TreeChecks::require_complete(base::Digest digest, std::string script) {
  if (auto gap = co_await find_gap(digest))
    throw Error(Code::invalid, fmt::format("the snapshot {} {}", digest.hex(), *gap))
        .field("snapshot")
        .hint("ask POST /api/v1/blobs/missing and send what is missing before the submit");
  if (script.empty()) co_return;
  auto tree = co_await read_tree(core_, digest);
  if (std::ranges::none_of(tree.entries, [&](const auto& entry) { return entry.path == script; }))
    throw Error(Code::invalid, fmt::format("the snapshot has no script '{}'", script))
        .field("script")
        .hint("the path is relative to the source folder; does an ignore file leave it out?");
}

}  // namespace lathe::server
