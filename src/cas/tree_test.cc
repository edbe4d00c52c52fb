#include "cas/tree.h"

#include "cas/tree_checker.h"

#include <gtest/gtest.h>

namespace lathe::cas {
namespace {

TreeEntry file(std::string path, std::string_view bytes = "x", bool executable = false) {
  return {.path = std::move(path),
          .digest = base::sha256(bytes),
          .size = bytes.size(),
          .executable = executable,
          .link_target = {}};
}
TreeEntry link(std::string path, std::string target) {
  return {.path = std::move(path), .digest = {}, .size = 0, .executable = false, .link_target = std::move(target)};
}

TEST(Tree, ComesBackFromItsManifest) {
  Tree tree{{file("a b.py", "print()"), file("bin/run", "#!", true), link("latest", "bin/run"),
             file("tab\there\\new\nline")}};
  EXPECT_EQ(decode_tree(encode_tree(tree)).value(), tree);
  EXPECT_EQ(tree.total_bytes(), 7u + 2 + 1);
}

TEST(Tree, TheFormatIsTheDocumentedOne) {
  Tree tree{{file("a", "abc"), link("b", "a")}};
  EXPECT_EQ(encode_tree(tree),
            "lathe-tree 1\n"
            "f ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad 3 a\n"
            "l b\ta\n");
}

TEST(Tree, AnEmptyFolderHasAManifestToo) {
  EXPECT_EQ(encode_tree({}), "lathe-tree 1\n");
  EXPECT_TRUE(decode_tree("lathe-tree 1\n").value().entries.empty());
}

TEST(Tree, OnlyTheOneCanonicalFormIsAccepted) {
  const std::string digest = base::sha256("x").hex();
  const std::string head = "lathe-tree 1\n";
  for (const std::string& bad :
       {std::string(), std::string("lathe-tree 2\n"), head + "f " + digest + " 1 a",         // cut short
        head + "f " + digest + " 01 a\n", head + "f " + digest + " -1 a\n",                  // odd sizes
        head + "f " + digest + " 99999999999999999999 a\n", head + "f " + digest + " 1 \n",  // too large, no path
        head + "f " + digest.substr(1) + " 1 a\n", head + "q " + digest + " 1 a\n",          // digest, kind
        head + "f " + digest + " 1 a\\x\n", head + "f " + digest + " 1 a\tb\n",              // escapes
        head + "f " + digest + " 1 b\nf " + digest + " 1 a\n",                               // order
        head + "f " + digest + " 1 a\nf " + digest + " 1 a\n",                               // twice
        head + "f " + digest + " 1 a\nf " + digest + " 1 a.b\nf " + digest + " 1 a/b\n",     // file and folder
        head + "l a\n", head + "l a\t\n", head + "\n"}) {
    EXPECT_FALSE(decode_tree(bad)) << bad;
  }
}

TEST(Tree, LinksThatLeaveAreRefusedHoweverTheyAreWritten) {
  auto refused = [](std::vector<TreeEntry> entries) { return !decode_tree(encode_tree({std::move(entries)})); };
  EXPECT_TRUE(refused({link("a", "/etc/passwd")}));
  EXPECT_TRUE(refused({link("a", "..")}));
  EXPECT_TRUE(refused({link("a", "b/../../c")}));
  EXPECT_TRUE(refused({link("d/a", "../../x")}));
  // Each is inside when read alone; followed through the other, the second leaves.
  EXPECT_TRUE(refused({link("d/up", ".."), link("x", "d/up/../secret")}));
  EXPECT_FALSE(refused({link("d/a", "../x")}));
  EXPECT_FALSE(refused({link("a", "absent/thing")}));
  EXPECT_FALSE(refused({link("a", "b"), link("b", "a")})) << "a loop stays inside";
}

TEST(Tree, AFileThatIsAlsoAFolderIsFoundHoweverManySimilarNamesLieBetween) {
  auto accepted = [](std::vector<std::string> paths) {
    Tree tree;
    std::ranges::sort(paths);
    for (auto& path : paths) tree.entries.push_back(file(path));
    return decode_tree(encode_tree(tree)).has_value();
  };
  EXPECT_TRUE(accepted({"a", "a!", "a.b", "a.b.c", "aa", "aa.b/c", "b/a", "b/a.x"}));
  EXPECT_FALSE(accepted({"a", "a!", "a.b", "a.b.c", "a/b"}));
  EXPECT_FALSE(accepted({"a", "a-", "a--", "a.b", "a/x", "b"}));
  EXPECT_FALSE(accepted({"d/a", "d/a.", "d/a./x", "d/a/x"}));
  EXPECT_FALSE(accepted({"a", "a/b/c/d"}));
  EXPECT_TRUE(accepted({"a.b", "a/b", "a/b.c", "a0"}));
}

std::string parts(std::size_t count, std::string_view part = "a") {
  std::string path;
  for (std::size_t i = 0; i < count; ++i) path.append(i ? "/" : "").append(part);
  return path;
}

TEST(Tree, PathsAndTargetsHaveAtMost256Parts) {
  EXPECT_TRUE(check_tree_path(parts(256)));
  EXPECT_FALSE(check_tree_path(parts(257)));
  EXPECT_TRUE(decode_tree(encode_tree({{link("l", parts(256))}})));
  EXPECT_FALSE(decode_tree(encode_tree({{link("l", parts(257))}})));
}

TEST(Tree, AManifestPastALimitIsRefusedBeforeItIsTakenApart) {
  std::string large = "lathe-tree 1\n";
  large.append(kMaxTreeBytes, 'x');
  auto refused = decode_tree(large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), base::Code::too_large);

  std::string many = "lathe-tree 1\n";
  many.append(kMaxTreeEntries + 1, '\n');  // not even entries
  refused = decode_tree(many);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), base::Code::too_large);
}

// Each link leads through the next, and each is long: followed without a bound this takes hours.
TEST(Tree, LinksThatLeadThroughOneAnotherHaveABoundedCost) {
  Tree tree;
  const std::string deep = parts(250, "dddddddddddddd");
  for (int i = 0; i < 20'000; ++i) {
    tree.entries.push_back(
        link(fmt::format("{}/l{:05}", deep, i), i % 40 == 39 ? "end" : fmt::format("x/../l{:05}", i + 1)));
  }
  auto followed = decode_tree(encode_tree(tree));
  ASSERT_FALSE(followed);
  EXPECT_EQ(followed.error().code(), base::Code::invalid);
  EXPECT_NE(followed.error().message().find("too far"), std::string::npos) << followed.error().message();
  EXPECT_FALSE(followed.error().hint().empty());
}

TEST(TreePath, RefusesWhatSomeConsumerCouldNotUse) {
  for (std::string_view bad : {"", "/a", "a/", "a//b", ".", "..", "a/./b", "a/../b", "../a", "\xff", "a\xc0\xaf"})
    EXPECT_FALSE(check_tree_path(bad)) << bad;
  EXPECT_FALSE(check_tree_path(std::string_view("a\0b", 3)));
  EXPECT_FALSE(check_tree_path(std::string(256, 'a')));
  EXPECT_FALSE(check_tree_path(std::string(4097, 'a')));
  for (std::string_view good : {"a", "a/b", "...", ".a", "a b", "grün/ż", "-rf", "a\nb", "C:\\x"})
    EXPECT_TRUE(check_tree_path(good)) << good;
}

// What decode_tree() says of the whole, the checker says of the same bytes in pieces of any size.
TEST(TreeChecker, AgreesWithTheDecoder) {
  const std::string head = "lathe-tree 1\n", f = "f " + base::sha256("x").hex() + " 1 ";
  const std::vector<std::string> manifests = {
      encode_tree({{file("a b.py"), file("bin/run", "#!", true), link("latest", "bin/run"), file("tab\there\\")}}),
      encode_tree({{link("a", "../x")}}),
      encode_tree({{link("d/a", "../x"), link("x", "d/a")}}),
      head,
      "",
      "lathe-tree 2\n",
      "lathe-tree 1",
      head + f + "a",
      head + f + "b\n" + f + "a\n",
      head + f + "a\n" + f + "a\n",
      head + f + "a\n" + f + "a.b\n" + f + "a/b\n",
      head + f + "a\n" + f + "a!\n" + f + "a!/b\n",
      head + f + "a-b\n" + f + "a.b\n" + f + "a/b\n",
      head + f + "../a\n",
      head + "\n",
      head + f + std::string(5000, 'a') + "\n",
      head + std::string(100'000, 'a'),
  };
  for (const auto& manifest : manifests)
    for (const std::size_t size : {std::size_t{1}, std::size_t{7}, manifest.size() + 1}) {
      TreeChecker checker;
      base::Result<void> result;
      for (std::size_t at = 0; result && at < manifest.size(); at += size)
        result = checker.feed(std::string_view(manifest).substr(at, size));
      if (result) result = checker.finish();
      const auto decoded = decode_tree(manifest);
      ASSERT_EQ(result.has_value(), decoded.has_value()) << manifest.substr(0, 200) << " in pieces of " << size;
      if (!result) EXPECT_EQ(result.error().code(), decoded.error().code()) << manifest.substr(0, 200);
    }
}

}  // namespace
}  // namespace lathe::cas
