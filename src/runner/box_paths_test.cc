#include "runner/box_paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "support/temp_folder.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

bool has(const std::vector<fs::path>& list, const fs::path& wanted) {
  return std::ranges::find(list, wanted) != list.end();
}

TEST(BoxPaths, InsideIsByWholeNames) {
  EXPECT_TRUE(is_inside("/a/b", "/a"));
  EXPECT_TRUE(is_inside("/a", "/a"));
  EXPECT_FALSE(is_inside("/ab", "/a"));
  EXPECT_TRUE(is_inside("/a", "/"));
}

TEST(BoxPaths, AFolderOfProgramsBelongsToTheOneAbove) {
  EXPECT_EQ(program_folder("/opt/tool/bin"), "/opt/tool");
  EXPECT_EQ(program_folder("/opt/versions/shims"), "/opt/versions");
  EXPECT_EQ(program_folder("/bin"), "/bin");
  EXPECT_EQ(program_folder("/opt/tool"), "/opt/tool");
}

TEST(BoxPaths, AnInterpreterIsFoundThroughLinksAndVirtualEnvironments) {
  const support::TempFolder root;
  for (const char* name : {"real/bin", "linked/bin", "venv/bin", "base/bin"}) fs::create_directories(root / name);
  std::ofstream(root / "real/bin/python3.9") << "";
  fs::create_symlink("../../real/bin/python3.9", root / "linked/bin/python3");
  fs::create_symlink(root / "linked/bin/python3", root / "venv/bin/python");
  std::ofstream(root / "venv/pyvenv.cfg") << "version = 3.9\nhome = " << (root / "base/bin").string() << "\n";
  const auto found = folders_of_program(root / "venv/bin/python");
  for (const char* name : {"venv/bin", "linked/bin", "real/bin", "base/bin"}) EXPECT_TRUE(has(found, root / name)) << name;
}

TEST(BoxPaths, AClosedFolderOnTheWayIsNotOpen) {
  const support::TempFolder root;
  ::chmod(root.path().c_str(), 0755);
  fs::create_directories(root / "closed/inner");
  ::chmod((root / "closed").c_str(), 0700);
  const sys::ProgramUser stranger{2'000'000'123, 2'000'000'123, {}}, owner{::geteuid(), ::getegid(), {}};
  EXPECT_FALSE(is_open_to(root / "closed/inner", stranger));
  EXPECT_TRUE(is_open_to(root / "closed/inner", owner));
  EXPECT_TRUE(is_open_to(root / "nothing/here", stranger));
}

TEST(BoxPaths, ATreeIsGivenWithoutFollowingLinks) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const support::TempFolder root;
  fs::create_directories(root / "tree/inner");
  std::ofstream(root / "tree/inner/file") << "x";
  std::ofstream(root / "outside") << "x";
  fs::create_symlink(root / "outside", root / "tree/link");
  ASSERT_TRUE(give_tree(root / "tree", {2'000'000'123, 2'000'000'123, {}}));
  struct stat status{};
  for (const char* name : {"tree", "tree/inner", "tree/inner/file", "tree/link"}) {
    ASSERT_EQ(::lstat((root / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 2'000'000'123u) << name;
  }
  ASSERT_EQ(::lstat((root / "outside").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0u);
}

}  // namespace
}  // namespace lathe::runner
