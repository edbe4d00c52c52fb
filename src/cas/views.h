// Views: trees as folders of hard links to the store's own blobs (views/<digest of the tree>/), so that any number of
// runs on this machine read a dataset without a copy of it. A view is made once: in a folder of another name, every
// blob verified, then renamed. It can be had again from its tree at any time, so it may go at any time but while
// somebody uses it; bytes that it links stay on disk until then, even when the store has let the blob go. When a blob
// has left the store since (it was damaged, or collected) the links of a view are looked at again and those that are
// not the store's file any more are replaced, each at once, also under readers. Read-only by the file rights of blobs
// and by the mounts through which runs see it. Thread-safe; blocking.
#pragma once

#include "base/time.h"
#include "cas/disk_store.h"
#include "cas/tree.h"

namespace lathe::cas {

class Views {
 public:
  // Removes what a killed process left half made.
  static base::Result<Views> open(const std::filesystem::path& root, DiskStore& store);

  // The folder of this tree, made when it is not there. corrupt when a blob's bytes are not what its digest says.
  base::Result<std::filesystem::path> get(const base::Digest& tree);

  struct Kept {
    base::Digest tree;
    base::UtcTime used;  // by the last get()
  };
  std::vector<Kept> list() const;
  // False when it was used at or after `unused_since` or is not there.
  bool remove(const base::Digest& tree, base::UtcTime unused_since);

 private:
  Views(std::filesystem::path root, DiskStore& store) : root_(std::move(root)), store_(&store) {}
  base::Result<void> build(const base::Digest& tree, const std::filesystem::path& folder);
  base::Result<void> repair(const base::Digest& tree, const std::filesystem::path& folder);
  base::Result<Tree> read_tree(const base::Digest& digest);
  base::Result<void> put_file(const TreeEntry& entry, const std::filesystem::path& path);
  std::filesystem::path draft_path();  // with changing_ held

  std::filesystem::path root_;
  DiskStore* store_;
  std::unique_ptr<std::mutex> changing_ = std::make_unique<std::mutex>();  // of names in root_, not while one is built
  std::uint64_t next_ = 0;
  std::unordered_map<base::Digest, std::uint64_t> checked_;  // tree → store_->removals() when all its links were right
};

}  // namespace lathe::cas
