// ManifestTree: the FileTree of a tree manifest. Built once; everything is answered from memory.
#pragma once

#include "cas/tree.h"
#include "mount/file_tree.h"

namespace lathe::mount {

class ManifestTree final : public FileTree {
 public:
  // The tree is checked here.
  static base::Result<std::unique_ptr<ManifestTree>> create(cas::Tree tree);

  base::Result<Node> find(Inode folder, std::string_view name) override;
  base::Result<Node> get(Inode inode) override;
  base::Result<void> list(Inode folder, std::uint64_t from, const Visit& visit) override;
  std::vector<cas::BlobInfo> following(Inode file, std::size_t most) override;

 private:
  static constexpr std::uint32_t kNoEntry = UINT32_MAX;
  struct Item {
    std::string_view name;            // in the tree's own text
    std::uint32_t entry = kNoEntry;   // of a file or link
    std::vector<std::uint32_t> held;  // of a folder: its items, sorted by name
  };

  explicit ManifestTree(cas::Tree tree) : tree_(std::move(tree)) {}
  void build();
  std::uint32_t add(std::uint32_t folder, std::string_view name, std::uint32_t entry);
  Node node(std::uint32_t item) const;
  base::Result<const Item*> folder(Inode inode) const;

  const cas::Tree tree_;
  std::vector<Item> items_;  // inode - 1
};

}  // namespace lathe::mount
