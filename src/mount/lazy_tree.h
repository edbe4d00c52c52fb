// LazyTree: the FileTree of a whole datastore, or of a folder in it. A name is asked for when somebody looks it up, a
// folder is listed a page at a time as somebody reads it, and a folder inside it is stepped over whole, however many
// files it holds. What was seen stays as it was seen. Asking blocks the thread that looks, and others at the same tree.
#pragma once

#include <deque>
#include <map>
#include <mutex>

#include "mount/file_tree.h"
#include "mount/name_source.h"

namespace lathe::mount {

class LazyTree final : public FileTree {
 public:
  // `folder`: "" or "a/b", the part of the datastore that is shown.
  LazyTree(NameSource& source, std::string folder);

  base::Result<Node> find(Inode folder, std::string_view name) override;
  base::Result<Node> get(Inode inode) override;
  base::Result<void> list(Inode folder, std::uint64_t from, const Visit& visit) override;
  std::vector<cas::BlobInfo> following(Inode file, std::size_t most) override;

 private:
  static constexpr int kPage = 500;
  struct Item {
    Node node;
    std::string prefix = {};  // of a folder: what the paths of its files begin with
    Inode parent = 0;
    std::map<std::string, Inode, std::less<>> known = {};
    std::vector<std::pair<std::string, Inode>> listed = {};  // in order
    std::string after = {};                                  // where its listing goes on
    bool whole = false;
  };

  Item& item(Inode inode) { return items_[inode - 1]; }
  base::Result<void> check_folder(Inode inode);
  Inode note(Inode folder, std::string_view name, const NamedBlob* file);
  base::Result<void> list_more(Inode folder);

  NameSource& source_;
  std::mutex mutex_;
  std::deque<Item> items_;  // inode - 1
};

}  // namespace lathe::mount
