// FileTree: the names that a mount shows: folders, files and links under inode numbers; no bytes. Immutable content:
// what was told once stays true, so that the kernel may remember it. Thread-safe.
#pragma once

#include <functional>

#include "cas/blob_store.h"

namespace lathe::mount {

using Inode = std::uint64_t;
inline constexpr Inode kRoot = 1;

struct Node {
  enum class Kind { folder, file, link };
  Inode inode = 0;
  Kind kind = Kind::folder;
  bool executable = false;
  cas::BlobInfo blob;       // of a file
  std::string link_target;  // of a link
};

class FileTree {
 public:
  virtual ~FileTree() = default;
  // not_found when there is none.
  virtual base::Result<Node> find(Inode folder, std::string_view name) = 0;
  virtual base::Result<Node> get(Inode inode) = 0;
  // Calls `visit` with the entries of a folder from position `from` on, in order, until it returns false.
  using Visit = std::function<bool(std::uint64_t position, const std::string& name, const Node& node)>;
  virtual base::Result<void> list(Inode folder, std::uint64_t from, const Visit& visit) = 0;
  // The files that come after this one, for reading ahead; those that are not known yet are left out.
  virtual std::vector<cas::BlobInfo> following(Inode file, std::size_t most) = 0;
};

}  // namespace lathe::mount
