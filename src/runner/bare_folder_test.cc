#include "runner/bare_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <fstream>
#include <set>

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

class BareFolder : public testing::Test {
 protected:
  BareFolder() {
    std::string name = fs::temp_directory_path() / "lathe-bare.XXXXXX";
    root_ = ::mkdtemp(name.data());
    for (const auto& folder : kept_) fs::create_directories(run_ / folder);
  }
  ~BareFolder() override { fs::remove_all(root_); }

  std::set<std::string> left() {
    std::set<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(run_)) out.insert(fs::relative(entry.path(), run_));
    return out;
  }

  const std::vector<std::string> kept_{"outputs", "logs"};
  fs::path root_;
  fs::path run_ = root_ / "run";
};

TEST_F(BareFolder, HasNothingButItsEmptyFolders) {
  fs::create_directories(run_ / "outputs" / "deep" / "er");
  std::ofstream(run_ / "outputs" / "deep" / "model.h5") << "x";
  std::ofstream(run_ / "train.py") << "x";
  fs::create_directories(run_ / "__pycache__");
  EXPECT_TRUE(make_bare(run_, kept_));
  EXPECT_EQ(left(), (std::set<std::string>{"logs", "outputs"}));
}

TEST_F(BareFolder, DoesNotKeepWhatTheRunPutInTheirPlace) {
  fs::create_directories(root_ / "elsewhere" / "precious");
  fs::remove(run_ / "outputs");
  fs::create_directory_symlink(root_ / "elsewhere", run_ / "outputs");
  ::chmod((run_ / "logs").c_str(), 01777);
  EXPECT_TRUE(make_bare(run_, kept_));
  EXPECT_EQ(left(), std::set<std::string>{});
  EXPECT_TRUE(fs::exists(root_ / "elsewhere" / "precious"));
}

TEST_F(BareFolder, DoesNotKeepAFolderWithAttributes) {
  if (::setxattr((run_ / "outputs").c_str(), "user.note", "x", 1, 0) != 0) GTEST_SKIP() << "no attributes here";
  EXPECT_TRUE(make_bare(run_, kept_));
  EXPECT_EQ(left(), std::set<std::string>{"logs"});
}

TEST_F(BareFolder, GoesAltogetherWhenItsOwnRightsWereChanged) {
  ::chmod(run_.c_str(), 0500);
  EXPECT_TRUE(make_bare(run_, kept_));
  EXPECT_TRUE(!fs::exists(run_) || ::geteuid() != 0);
}

}  // namespace
}  // namespace lathe::runner
