// A source of blobs for tests: in memory, honest unless told to lie, and it counts.
#pragma once

#include <atomic>
#include <map>

#include "cas/tree.h"
#include "mount/blob_source.h"

namespace lathe::mount::testing {

class MemorySource final : public BlobSource {
 public:
  // Adds a file to the tree.
  void add(const std::string& path, std::string bytes, bool executable = false) {
    cas::TreeEntry entry;
    entry.path = path;
    entry.digest = base::sha256(bytes);
    entry.size = bytes.size();
    entry.executable = executable;
    tree.entries.push_back(entry);
    blobs_[entry.digest] = std::move(bytes);
  }
  void add_link(const std::string& path, const std::string& target) {
    cas::TreeEntry entry;
    entry.path = path;
    entry.link_target = target;
    tree.entries.push_back(entry);
  }
  cas::Tree sorted() const {
    cas::Tree out = tree;
    std::ranges::sort(out.entries, {}, &cas::TreeEntry::path);
    return out;
  }
  std::string& bytes_of(const base::Digest& digest) { return blobs_.at(digest); }

  base::Result<std::string> read(const base::Digest& digest, std::uint64_t offset, std::uint64_t size) override {
    ++reads;
    if (interrupted) return base::fail(base::Code::cancelled, "interrupted");
    return blobs_.at(digest).substr(offset, size);
  }
  base::Result<cas::ChunkIndex> chunks(const base::Digest& digest) override {
    ++indexes;
    cas::ChunkHasher hasher;
    hasher.update(blobs_.at(digest));
    return wrong_index ? cas::ChunkIndex{} : hasher.finish();
  }
  void interrupt() override { interrupted = true; }

  cas::Tree tree;
  std::atomic<int> reads = 0, indexes = 0;
  std::atomic<bool> interrupted = false, wrong_index = false;

 private:
  std::map<base::Digest, std::string> blobs_;
};

}  // namespace lathe::mount::testing
