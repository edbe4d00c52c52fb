#include "mount/manifest_tree.h"

#include <gtest/gtest.h>

#include "mount/testing.h"

namespace lathe::mount {
namespace {

std::vector<std::string> names(FileTree& tree, Inode folder, std::uint64_t from = 0) {
  std::vector<std::string> out;
  EXPECT_TRUE(tree.list(folder, from, [&](std::uint64_t, const std::string& name, const Node&) {
    out.push_back(name);
    return true;
  }));
  return out;
}

TEST(ManifestTree, ShowsFoldersFilesAndLinks) {
  testing::MemorySource source;
  // Sorted as whole paths: "a-b" and "a.c" come before and "a0" after what is in the folder "a".
  for (const char* path : {"a-b", "a/x/deep", "a/y", "a0", "ü/ß.txt"}) source.add(path, path);
  source.add_link("link", "a/y");
  auto tree = ManifestTree::create(source.sorted()).value();
  EXPECT_EQ(names(*tree, kRoot), (std::vector<std::string>{"a", "a-b", "a0", "link", "ü"}));
  EXPECT_EQ(names(*tree, kRoot, 3), (std::vector<std::string>{"link", "ü"}));
  auto folder = tree->find(kRoot, "a").value();
  EXPECT_EQ(folder.kind, Node::Kind::folder);
  EXPECT_EQ(names(*tree, folder.inode), (std::vector<std::string>{"x", "y"}));
  auto file = tree->find(folder.inode, "y").value();
  EXPECT_EQ(file.blob.digest, base::sha256("a/y"));
  EXPECT_EQ(tree->get(file.inode).value().blob.size, 3u);
  EXPECT_EQ(tree->find(kRoot, "link").value().link_target, "a/y");
  EXPECT_EQ(tree->find(kRoot, "nothing").error().code(), base::Code::not_found);
  EXPECT_EQ(tree->find(file.inode, "x").error().code(), base::Code::not_found);
  EXPECT_EQ(tree->get(99).error().code(), base::Code::not_found);
  EXPECT_EQ(tree->following(file.inode, 1).front().digest, base::sha256("a0"));
}

TEST(ManifestTree, AnEmptyTreeIsAnEmptyFolder) {
  auto tree = ManifestTree::create({}).value();
  EXPECT_TRUE(names(*tree, kRoot).empty());
}

TEST(ManifestTree, RefusesWhatATreeMustNotHold) {
  testing::MemorySource outside, twice, upward;
  outside.add_link("link", "../x");
  twice.add("a", "1");
  twice.add("a/b", "2");
  upward.add("../a", "1");
  for (auto* source : {&outside, &twice, &upward}) EXPECT_FALSE(ManifestTree::create(source->sorted()));
}

}  // namespace
}  // namespace lathe::mount
