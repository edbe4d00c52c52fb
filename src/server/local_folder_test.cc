#include "server/local_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "server/test_support.h"

namespace lathe::server {
namespace {

namespace fs = std::filesystem;

struct LocalFolders : ::testing::Test {
  TempFolder temporary;
  fs::path root = temporary / "root";
  std::vector<fs::path> roots{root};
  LocalFolders() { fs::create_directories(root / "data"); }

  void put(const std::string& path, std::string_view text) const {
    fs::create_directories((root / "data" / path).parent_path());
    std::ofstream(root / "data" / path) << text;
  }
  LocalFolder open() const { return base::value_or_throw(LocalFolder::open(root / "data", roots)); }
  std::vector<std::string> list(std::string_view prefix, std::string_view after, std::size_t limit = 100) const {
    auto files = base::value_or_throw(open().list(prefix, after, limit));
    std::vector<std::string> paths;
    for (const auto& file : files) paths.push_back(file.path);
    return paths;
  }
};

TEST_F(LocalFolders, AreListedInTheOrderOfWholePaths) {
  for (const char* path : {"a/b", "a-b", "a.txt", "a/a/z", "b"}) put(path, "x");
  const std::vector<std::string> all{"a-b", "a.txt", "a/a/z", "a/b", "b"};
  EXPECT_EQ(list("", ""), all);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(list("", all[i]), std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end()));
  EXPECT_EQ(list("a/", ""), (std::vector<std::string>{"a/a/z", "a/b"}));
  EXPECT_EQ(list("a", "", 2), (std::vector<std::string>{"a-b", "a.txt"}));
  EXPECT_TRUE(list("c", "").empty());
}

TEST_F(LocalFolders, NeverLeaveThemselves) {
  put("inside", "x");
  fs::create_symlink("/etc", root / "data" / "etc");
  fs::create_symlink("/etc/passwd", root / "data" / "passwd");
  EXPECT_EQ(list("", ""), (std::vector<std::string>{"inside"}));
  for (const char* path : {"etc/passwd", "passwd", "../secret", "/etc/passwd", "etc", "absent", ""})
    EXPECT_FALSE(open().open_file(path)) << path;
  EXPECT_TRUE(open().open_file("inside"));
}

TEST_F(LocalFolders, LieBelowARootOfTheSite) {
  fs::create_directories(temporary / "rooted");
  fs::create_symlink(temporary / "rooted", root / "link");
  for (const fs::path& path : {fs::path("/etc"), root.parent_path(), temporary / "rooted", root / "link"})
    EXPECT_FALSE(LocalFolder::open(path, roots)) << path;
  EXPECT_TRUE(LocalFolder::open(root, roots));
  EXPECT_EQ(LocalFolder::open(root, {}).error().code(), base::Code::forbidden);
}

TEST_F(LocalFolders, WriteWholeFilesOrNone) {
  put("source", "the bytes");
  auto folder = open();
  auto source = base::value_or_throw(folder.open_file("source"));
  EXPECT_TRUE(base::value_or_throw(folder.write_file("x/y/z", source, false)));
  EXPECT_FALSE(base::value_or_throw(folder.write_file("x/y/z", source, false)));
  EXPECT_TRUE(base::value_or_throw(folder.write_file("x/y/z", source, true)));
  EXPECT_FALSE(folder.write_file("source/below", source, true)) << "a file is no folder";
  EXPECT_EQ(list("", ""), (std::vector<std::string>{"source", "x/y/z"})) << "nothing temporary is left";
  EXPECT_EQ(fs::file_size(root / "data/x/y/z"), 9u);
}

}  // namespace
}  // namespace lathe::server
