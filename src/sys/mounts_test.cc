#include "sys/mounts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace lathe::sys {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;
constexpr int kNotHere = 77;  // the kernel or the container refuses: nothing to test

std::string mounts_here() {
  std::ifstream in("/proc/self/mounts");
  return {std::istreambuf_iterator<char>(in), {}};
}

class MountsTest : public testing::Test {
 protected:
  MountsTest() {
    fs::create_directories(from_);
    fs::create_directories(to_);
    std::ofstream(from_ / "a") << "1";
    ::chmod(root_.c_str(), 0755);
  }
  ~MountsTest() override { fs::remove_all(root_); }

  // In a process of its own: a namespace cannot be left again.
  template <class Work>
  static int in_child(Work work) {
    pid_t pid = ::fork();
    if (pid == 0) ::_exit(work());
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  int bind_and_try() {
    if (!enter_mount_namespace()) return kNotHere;
    if (auto bound = bind_read_only(from_, to_); !bound) {
      fmt::print(stderr, "{}\n", bound.error().text());
      return 1;
    }
    if (::access((to_ / "a").c_str(), R_OK) != 0) return 2;
    if (::open((to_ / "new").c_str(), O_WRONLY | O_CREAT, 0644) >= 0 || errno != EROFS) return 3;
    unmount(to_);
    return ::access((to_ / "a").c_str(), F_OK) == 0 ? 4 : 0;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / fmt::format("mounts-{}", ::getpid());
  const fs::path from_ = root_ / "from", to_ = root_ / "to";
};

TEST_F(MountsTest, AFolderIsBoundReadOnlyForThisProcessOnly) {
  const std::string before = mounts_here();
  int ended = in_child([&] { return bind_and_try(); });
  if (ended == kNotHere) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(mounts_here(), before);
}

TEST_F(MountsTest, AnOrdinaryUserCanDoSoToo) {
  if (::geteuid() != 0) GTEST_SKIP() << "the other test was it";
  int ended = in_child([&] {
    if (::setresgid(kNobody, kNobody, kNobody) != 0 || ::setresuid(kNobody, kNobody, kNobody) != 0) return kNotHere;
    const int result = bind_and_try();
    return ::geteuid() == kNobody ? result : 5;
  });
  if (ended == kNotHere) GTEST_SKIP() << "no user namespaces here";
  EXPECT_EQ(ended, 0);
}

TEST_F(MountsTest, WithoutANamespaceOfItsOwnNothingIsEverMountedByAnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs another user to become";
  int ended = in_child([&] {
    if (::setresuid(kNobody, kNobody, kNobody) != 0) return 0;
    auto bound = bind_read_only(from_, to_);
    return !bound && bound.error().code() == base::Code::unsupported ? 0 : 1;
  });
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace lathe::sys
