#include "cas/materialize.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include "cas/testing.h"

namespace lathe::cas {
namespace {

namespace fs = std::filesystem;
using testing::Folder;
using testing::read_file;

TreeEntry file(std::string path, std::string_view bytes, bool executable = false) {
  return {.path = std::move(path),
          .digest = base::sha256(bytes),
          .size = bytes.size(),
          .executable = executable,
          .link_target = {}};
}
TreeEntry link(std::string path, std::string target) {
  return {.path = std::move(path), .digest = {}, .size = 0, .executable = false, .link_target = std::move(target)};
}

base::Result<void> send(TreeWriter& writer, std::string_view bytes) {
  LATHE_TRY_VOID(writer.begin(base::sha256(bytes)));
  for (char c : bytes) LATHE_TRY_VOID(writer.write({&c, 1}));
  LATHE_TRY_VOID(writer.finish());
  return {};
}

TEST(TreeWriter, TakesBlobsInAnyOrderAndCopiesEqualFiles) {
  Folder folder;
  auto writer =
      TreeWriter::create({{file("a/x", "one"), file("b/c/y", "one", true), file("z", "two"), link("zz", "a/x")}},
                         folder.path())
          .value();
  EXPECT_EQ(writer->wanted().size(), 2u);
  ASSERT_TRUE(send(*writer, "two"));
  ASSERT_TRUE(send(*writer, "one"));
  ASSERT_TRUE(writer->complete());
  EXPECT_EQ(
      read_file(folder / "a/x") + read_file(folder / "b/c/y") + read_file(folder / "z") + read_file(folder / "zz"),
      "oneonetwoone");
  EXPECT_NE(fs::status(folder / "b/c/y").permissions() & fs::perms::owner_exec, fs::perms::none);
  EXPECT_EQ(fs::status(folder / "a/x").permissions() & fs::perms::owner_exec, fs::perms::none);
  EXPECT_FALSE(fs::equivalent(folder / "a/x", folder / "b/c/y"));
}

TEST(TreeWriter, IsNotCompleteBeforeEveryBlobCame) {
  Folder folder;
  auto writer = TreeWriter::create({{file("a", "one"), file("b", "two")}}, folder.path()).value();
  ASSERT_TRUE(send(*writer, "one"));
  EXPECT_EQ(writer->complete().error().code(), base::Code::corrupt);
}

TEST(TreeWriter, RefusesForeignWrongAndTooManyBytes) {
  Folder folder;
  auto writer = TreeWriter::create({{file("a", "one"), file("b", "two")}}, folder.path()).value();
  EXPECT_EQ(send(*writer, "unknown").error().code(), base::Code::corrupt);
  ASSERT_TRUE(writer->begin(base::sha256("one")));
  EXPECT_EQ(writer->write("more than announced").error().code(), base::Code::corrupt);
  Folder second;
  auto other = TreeWriter::create({{file("a", "one")}}, second.path()).value();
  ASSERT_TRUE(other->begin(base::sha256("one")));
  ASSERT_TRUE(other->write("eno"));
  EXPECT_EQ(other->finish().error().code(), base::Code::corrupt);
}

TEST(TreeWriter, HostileTreesAreRefusedBeforeAnythingIsWritten) {
  Folder folder;
  for (const Tree& bad :
       {Tree{{file("../x", "1")}}, Tree{{file("/x", "1")}}, Tree{{file("a", "1"), file("a/b", "1")}},
        Tree{{link("a", "/etc"), file("a/passwd", "1")}}, Tree{{link("a", "..")}}, Tree{{file("a/./b", "1")}}})
    EXPECT_FALSE(TreeWriter::create(bad, folder.path())) << bad.entries[0].path;
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(TreeWriter, ALinkPutIntoTheFolderMeanwhileIsNotFollowed) {
  Folder folder, victim;
  auto writer = TreeWriter::create({{file("d/f", "one")}}, folder.path()).value();
  fs::create_directory_symlink(victim.path(), folder / "d");
  EXPECT_FALSE(send(*writer, "one"));
  EXPECT_TRUE(fs::is_empty(victim.path()));
}

TEST(TreeWriter, NeverWritesOverAFileThatIsThere) {
  Folder folder;
  testing::write_file(folder / "a", "precious");
  auto writer = TreeWriter::create({{file("a", "one")}}, folder.path()).value();
  EXPECT_FALSE(send(*writer, "one"));
  EXPECT_EQ(read_file(folder / "a"), "precious");
}

}  // namespace
}  // namespace lathe::cas
