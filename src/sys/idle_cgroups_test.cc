#include "sys/idle_cgroups.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "sys/cgroup.h"
#include "sys/process.h"
#include "sys/small_file.h"

namespace lathe::sys {
namespace {

namespace fs = std::filesystem;

constexpr CgroupLimits kLimits{.memory_bytes = 32 << 20, .millicores = 500};

class IdleCgroups : public ::testing::Test {
 protected:
  void SetUp() override {
    place_ = find_cgroup_place(read_small_file("/proc/self/cgroup").value(),
                               read_small_file("/proc/self/mountinfo").value());
    if (place_.memory_v1.empty()) GTEST_SKIP() << "only older hierarchies can rename a group";
    if (auto probe = Cgroup::create(name_, kLimits); !probe)
      GTEST_SKIP() << "no cgroup may be made here: " << probe.error().text();
    remember_cgroup_place();
  }
  void TearDown() override { forget_cgroup_place(); }

  // In a child, as a runner is one; what it returns is its exit status.
  static int in_child(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
  int leave_one() {
    return in_child([&] {
      auto group = Cgroup::create(name_, kLimits, slot_);
      if (group) group->leave_idle();
      return group ? 0 : 1;
    });
  }
  // The number of a folder tells whether it is the same.
  static ino_t inode(const fs::path& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
  }
  fs::path idle() const { return place_.memory_v1 / fmt::format("lathe-idle-{}-{}", slot_, kLimits.memory_bytes); }
  fs::path memory() const { return place_.memory_v1 / name_; }

  CgroupPlace place_;
  const std::string name_ = fmt::format("lathe-test-idle-{}", ::getpid());
  const std::string slot_ = fmt::format("test-{}", ::getpid());
};

TEST_F(IdleCgroups, AreTakenByTheNextInTheSameSlotWithTheSameLimits) {
  ASSERT_EQ(0, leave_one());
  const ino_t left = inode(idle());
  EXPECT_NE(0u, left);
  EXPECT_EQ(0u, inode(memory()));
  EXPECT_EQ(0, in_child([&] {
              auto group = Cgroup::create(name_, kLimits, slot_);
              auto limit = read_small_file(memory() / "memory.limit_in_bytes").value_or("");
              return group && inode(memory()) == left && limit == "33554432\n" ? 0 : 1;
            }));
}

TEST_F(IdleCgroups, AreNotTakenWithOtherLimits) {
  ASSERT_EQ(0, leave_one());
  const ino_t left = inode(idle());
  EXPECT_EQ(0, in_child([&] {
              auto group = Cgroup::create(name_, {.memory_bytes = 64 << 20, .millicores = 500}, slot_);
              return group && inode(memory()) != left ? 0 : 1;
            }));
  EXPECT_EQ(left, inode(idle()));
}

TEST_F(IdleCgroups, AreRemovedAtTheEndOfTheOneWhoseChildrenLeftThem) {
  ASSERT_EQ(0, leave_one());
  forget_cgroup_place();
  EXPECT_EQ(0u, inode(idle()));
}

TEST_F(IdleCgroups, AreNotLeftByAProcessWhoseParentIsGone) {
  ASSERT_EQ(0, in_child([&] { return leave_one(); })) << "a grandchild, whose parent is not the keeper";
  EXPECT_EQ(0u, inode(idle()));
  EXPECT_EQ(0u, inode(memory()));
}

TEST_F(IdleCgroups, AreNotLeftByOneThatReachedItsLimit) {
  EXPECT_EQ(0, in_child([&] {
              auto group = Cgroup::create(name_, kLimits, slot_).value();
              SpawnRequest request;
              request.argv = {"/bin/sh", "-c", "head -c 200000000 /dev/zero | tail >/dev/null"};
              request.environment = {"PATH=/usr/bin:/bin"};
              request.cgroups = group.join_descriptors();
              auto child = spawn(request).value();
              ::waitpid(child.pid, nullptr, 0);
              group.leave_idle();
              return 0;
            }));
  EXPECT_EQ(0u, inode(idle()));
  EXPECT_EQ(0u, inode(memory()));
}

}  // namespace
}  // namespace lathe::sys
