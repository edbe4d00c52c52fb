#include "sys/file_system.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sys/file_system_faulty.h"

namespace lathe::sys {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "lathe-files-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The real one and the fake must behave alike while the power is on.
class FileSystemConformance : public ::testing::TestWithParam<bool> {
 protected:
  Folder folder_;
  std::unique_ptr<FaultyFileSystem> faulty_ = std::make_unique<FaultyFileSystem>(folder_.path());
  FileSystem& files_ = GetParam() ? static_cast<FileSystem&>(*faulty_) : linux_file_system();
};

TEST_P(FileSystemConformance, WritesAtOffsetsAndRenamesOverAnOldFile) {
  {
    auto file = files_.create(folder_ / "a", 0644).value();
    ASSERT_TRUE(files_.write(file, "hello world", 0));
    ASSERT_TRUE(files_.write(file, "W", 6));
  }
  ASSERT_TRUE(files_.create(folder_ / "b", 0644));
  ASSERT_TRUE(files_.rename(folder_ / "a", folder_ / "b"));
  EXPECT_EQ(content(folder_ / "b"), "hello World");
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_P(FileSystemConformance, RefusesToCreateWhatExistsAndToFollowALink) {
  ASSERT_TRUE(files_.create(folder_ / "a", 0644));
  EXPECT_EQ(files_.create(folder_ / "a", 0644).error().code(), base::Code::conflict);
  fs::create_symlink("a", folder_ / "link");
  EXPECT_FALSE(files_.open_or_create(folder_ / "link", 0644));
}

TEST_P(FileSystemConformance, LinksAnOpenFileToASecondName) {
  auto file = files_.create(folder_ / "a", 0644).value();
  ASSERT_TRUE(files_.write(file, "x", 0));
  ASSERT_TRUE(files_.link(file.fd(), folder_ / "b"));
  EXPECT_EQ(content(folder_ / "b"), "x");
  EXPECT_FALSE(files_.link(file.fd(), folder_ / "b")) << "a name in use is not replaced";
}

TEST_P(FileSystemConformance, MakesFoldersOnceAndTellsTheirAbsence) {
  ASSERT_TRUE(files_.make_directory(folder_ / "d", 0755));
  EXPECT_TRUE(files_.make_directory(folder_ / "d", 0755));
  EXPECT_TRUE(files_.sync_directory(folder_ / "d"));
  EXPECT_TRUE(files_.sync_everything(folder_ / "d"));
  EXPECT_EQ(files_.remove(folder_ / "absent").error().code(), base::Code::not_found);
}

TEST_P(FileSystemConformance, WritesAWholeFileDurably) {
  ASSERT_TRUE(write_file_durably(files_, folder_ / "record", "one", 0600));
  ASSERT_TRUE(write_file_durably(files_, folder_ / "record", "2", 0600));
  EXPECT_EQ(content(folder_ / "record"), "2");
  EXPECT_FALSE(fs::exists(folder_ / "record.new"));
}

INSTANTIATE_TEST_SUITE_P(RealAndFake, FileSystemConformance, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Faulty" : "Linux"; });

TEST(FaultyFileSystem, FailsTheCallItWasToldToAndNoOther) {
  Folder folder;
  FaultyFileSystem files(folder.path());
  files.fail_call(2, ENOSPC);
  EXPECT_TRUE(files.create(folder / "a", 0644));
  EXPECT_EQ(files.create(folder / "b", 0644).error().code(), base::Code::no_space);
  EXPECT_TRUE(files.create(folder / "b", 0644));
  EXPECT_EQ(files.journal().size(), 3u);
}

TEST(FaultyFileSystem, APowerCutTakesNamesThatWereNotSynced) {
  Folder folder;
  FaultyFileSystem files(folder.path());
  ASSERT_TRUE(files.write(files.create(folder / "a", 0644).value(), "bytes", 0));
  ASSERT_TRUE(files.sync_file(folder / "a"));
  files.restart(Loss::names_and_bytes);
  EXPECT_FALSE(fs::exists(folder / "a"));
}

TEST(FaultyFileSystem, APowerCutLeavesZerosInFilesThatWereNotSynced) {
  Folder folder;
  FaultyFileSystem files(folder.path());
  ASSERT_TRUE(files.write(files.create(folder / "a", 0644).value(), "bytes", 0));
  ASSERT_TRUE(files.sync_directory(folder.path()));
  files.restart(Loss::bytes_only);
  EXPECT_EQ(content(folder / "a"), std::string(5, '\0'));
}

TEST(FaultyFileSystem, APowerCutTearsFilesThatWereNotSynced) {
  Folder folder;
  FaultyFileSystem files(folder.path());
  auto file = files.create(folder / "a", 0644).value();
  ASSERT_TRUE(files.write(file, "synced", 0));
  ASSERT_TRUE(files.sync_file(folder / "a"));
  ASSERT_TRUE(files.write(file, " and more", 6));
  files.restart(Loss::torn);
  EXPECT_EQ(content(folder / "a"), "synced and");
}

TEST(FaultyFileSystem, ARenameThatWasNotSyncedIsUndone) {
  Folder folder;
  FaultyFileSystem files(folder.path());
  ASSERT_TRUE(write_file_durably(files, folder / "a", "old", 0644));
  ASSERT_TRUE(files.rename(folder / "a", folder / "b"));
  files.restart(Loss::names_and_bytes);
  EXPECT_EQ(content(folder / "a"), "old");
  EXPECT_FALSE(fs::exists(folder / "b"));
}

TEST(WriteFileDurably, AfterAPowerCutAtAnyStepTheRecordIsOldOrNewNeverTorn) {
  for (auto loss : kEveryLoss) {
    for (std::size_t step = 0;; ++step) {
      Folder folder;
      FaultyFileSystem files(folder.path());
      ASSERT_TRUE(write_file_durably(files, folder / "record", "old", 0600));
      files.cut_power_after(step);
      bool acknowledged = write_file_durably(files, folder / "record", "new", 0600).has_value();
      files.restart(loss);
      auto found = content(folder / "record");
      EXPECT_TRUE(found == "new" || (!acknowledged && found == "old")) << "step " << step << " left '" << found << "'";
      if (acknowledged) break;
    }
  }
}

}  // namespace
}  // namespace lathe::sys
