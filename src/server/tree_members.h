// TreeMembers: which blobs a tree holds, kept in memory for the trees that were asked for last (16 bytes a file, at
// most 2.5 million files in all). A manifest is content and never changes, so what is known of it stays right. Home thread;
// manifests are read on the pool, one reading for all who wait for the same tree.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "server/core.h"

namespace lathe::server {

class TreeMembers {
 public:
  explicit TreeMembers(Core& core) : core_(core), loaded_(core.home) {}
  // False also for a tree that is not in the store.
  rt::Task<bool> contains(base::Digest tree, base::Digest blob);

 private:
  // The first half of a digest: nobody can make bytes whose digest begins with 16 given ones.
  using Name = std::array<unsigned char, 16>;
  using Names = std::vector<Name>;  // sorted
  struct Known {
    base::Digest tree;
    std::shared_ptr<const Names> names;
  };

  rt::Task<std::shared_ptr<const Names>> names_of(base::Digest tree);
  void keep(const base::Digest& tree, std::shared_ptr<const Names> names);
  static Names read_names(const cas::BlobFile& manifest);
  static Name short_name(const base::Digest& digest);

  Core& core_;
  std::list<Known> known_;  // the one used last comes first
  std::unordered_map<base::Digest, std::list<Known>::iterator> by_tree_;
  std::size_t files_ = 0;
  std::unordered_set<base::Digest> loading_;
  rt::Notifier loaded_;
};

}  // namespace lathe::server
