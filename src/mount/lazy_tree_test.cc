#include "mount/lazy_tree.h"

#include <gtest/gtest.h>

#include <set>

namespace lathe::mount {
namespace {

class Names final : public NameSource {
 public:
  base::Result<NamePage> list(const std::string& prefix, const std::string& after, int limit) override {
    ++calls;
    NamePage page;
    for (const auto& path : paths) {
      if (!path.starts_with(prefix) || path <= after) continue;
      if (page.files.size() == static_cast<std::size_t>(limit)) {
        page.more = true;
        break;
      }
      page.files.push_back({path, {base::sha256(path), path.size()}});
    }
    told += page.files.size();
    return page;
  }
  std::set<std::string> paths;
  int calls = 0;
  std::size_t told = 0;
};

std::vector<std::string> names(FileTree& tree, Inode folder) {
  std::vector<std::string> out;
  EXPECT_TRUE(tree.list(folder, 0, [&](std::uint64_t, const std::string& name, const Node&) {
    out.push_back(name);
    return true;
  }));
  return out;
}

TEST(LazyTree, AsksOnlyForWhatSomebodyLooksAt) {
  Names source;
  for (int i = 0; i < 5000; ++i) source.paths.insert(fmt::format("big/{:05}", i));
  for (const char* path : {"a", "a-b", "a.c/x", "big.txt", "z/ü/y"}) source.paths.insert(path);
  LazyTree tree(source, "");
  EXPECT_EQ(source.calls, 0);
  auto file = tree.find(kRoot, "big").value();
  EXPECT_EQ(file.kind, Node::Kind::folder);
  EXPECT_EQ(tree.find(file.inode, "04999").value().blob.digest, base::sha256("big/04999"));
  EXPECT_EQ(tree.find(kRoot, "big.tx").error().code(), base::Code::not_found);
  EXPECT_LT(source.told, 10u);
  EXPECT_EQ(names(tree, kRoot), (std::vector<std::string>{"a", "a-b", "a.c", "big.txt", "big", "z"}));
  EXPECT_LT(source.told, 2500u) << "a large folder is stepped over";
  EXPECT_EQ(names(tree, file.inode).size(), 5000u);
  auto calls = source.calls;
  EXPECT_EQ(names(tree, file.inode).size(), 5000u);
  EXPECT_EQ(tree.find(file.inode, "nothing").error().code(), base::Code::not_found);
  EXPECT_EQ(source.calls, calls) << "what was seen is remembered";
  EXPECT_EQ(tree.following(tree.find(file.inode, "00010").value().inode, 2).size(), 2u);
}

TEST(LazyTree, ShowsOneFolderOfADatastore) {
  Names source;
  source.paths = {"other/x", "train/a", "train/b/c", "train2/d"};
  LazyTree tree(source, "train");
  EXPECT_EQ(names(tree, kRoot), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(tree.find(kRoot, "d").error().code(), base::Code::not_found);
  EXPECT_EQ(tree.get(kRoot).value().kind, Node::Kind::folder);
}

}  // namespace
}  // namespace lathe::mount
