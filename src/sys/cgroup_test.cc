#include "sys/cgroup.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "sys/machine.h"
#include "sys/process.h"

namespace lathe::sys {
namespace {

TEST(CgroupPlace, FindsBothHierarchiesOfAHybridMachine) {
  auto place = find_cgroup_place("4:memory:/a/b\n1:cpu,cpuacct:/\n0::/user.slice\n",
                                 "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
                                 "35 31 0:32 / /sys/fs/cgroup/memory rw shared:3 - cgroup cgroup rw,memory\n"
                                 "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  EXPECT_EQ("/sys/fs/cgroup/memory/a/b", place.memory_v1);
  EXPECT_EQ("/sys/fs/cgroup/cpu", place.cpu_v1);
  EXPECT_EQ("/sys/fs/cgroup/unified/user.slice", place.unified);
}

TEST(CgroupPlace, TakesTheRootOfABindMountOutOfThePath) {
  auto place =
      find_cgroup_place("0::/docker/abc/x\n", "41 31 0:38 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ("/sys/fs/cgroup/x", place.unified);
}

TEST(CgroupPlace, IsEmptyWithoutHierarchies) {
  auto place = find_cgroup_place("", "22 1 0:5 / /dev rw - devtmpfs dev rw\ngarbage\n");
  EXPECT_TRUE(place.unified.empty() && place.memory_v1.empty() && place.cpu_v1.empty());
}

TEST(Cgroup, SeesAProcessKilledAtItsMemoryLimitAndGoesAway) {
  auto group = Cgroup::create(fmt::format("lathe-test-{}", ::getpid()), {.memory_bytes = 32 << 20, .millicores = 500});
  if (!group) GTEST_SKIP() << "no cgroup may be made here: " << group.error().text();
  SpawnRequest request;
  request.argv = {"/bin/sh", "-c", "head -c 200000000 /dev/zero | tail >/dev/null"};
  request.environment = {"PATH=/usr/bin:/bin"};
  request.cgroups = group->join_descriptors();
  EXPECT_FALSE(group->out_of_memory());
  auto child = spawn(request);
  ASSERT_TRUE(child) << child.error().text();
  int status = 0;
  ::waitpid(child->pid, &status, 0);
  EXPECT_NE(0, status);
  EXPECT_TRUE(group->out_of_memory());
  group->remove();
  auto again = Cgroup::create(fmt::format("lathe-test-{}", ::getpid()), {});
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->out_of_memory()) << "the old group was still there";
}

TEST(Cgroup, KillsEveryProcessInIt) {
  auto group = Cgroup::create(fmt::format("lathe-test-kill-{}", ::getpid()), {.memory_bytes = 64 << 20});
  if (!group) GTEST_SKIP() << "no cgroup may be made here: " << group.error().text();
  SpawnRequest request;
  request.argv = {"/bin/sleep", "1000"};
  request.cgroups = group->join_descriptors();
  auto child = spawn(request).value();
  group->kill_all();
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Machine, HasCoresMemoryAndAName) {
  auto machine = read_machine();
  EXPECT_GE(machine.millicores, 1);
  EXPECT_GT(machine.memory_bytes, 1 << 20);
  EXPECT_FALSE(machine.host.empty());
}

TEST(Cgroup, ThatAKilledProcessLeftIsRemovedByItsName) {
  const std::string name = fmt::format("lathe-left-{}", ::getpid());
  if (auto probe = Cgroup::create(name, {.memory_bytes = 32 << 20, .millicores = 500}); !probe)
    GTEST_SKIP() << "no cgroup may be made here: " << probe.error().text();
  const pid_t child = ::fork();
  if (child == 0) {
    auto group = Cgroup::create(name, {.memory_bytes = 32 << 20, .millicores = 500});
    ::_exit(group ? 0 : 1);  // without its destructor, as after a kill
  }
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  ASSERT_EQ(0, status);
  auto left = [&] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator("/sys/fs/cgroup"))
      if (entry.path().filename() == name) return true;
    return false;
  };
  EXPECT_TRUE(left());
  Cgroup::remove_tree(name);
  EXPECT_FALSE(left());
}

}  // namespace
}  // namespace lathe::sys
