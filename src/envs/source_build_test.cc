#include "envs/source_build.h"

#include <gtest/gtest.h>

namespace lathe::envs {
namespace {

LockContent lock_with(const std::string& framework, const std::string& version) {
  LockContent lock;
  lock.python = "3.6";
  lock.platform = "linux-x86_64";
  lock.packages = {{"horovod", "0.19.5", PackageSource::built, {{"h.tar.gz", base::sha256("h")}}, {}, {}},
                   {framework, version, PackageSource::index, {{"t.whl", base::sha256("t")}}, {}, {}}};
  return lock;
}

TEST(BuildRule, IsForPackagesThatAreBuiltAgainstOthers) {
  auto rule = build_rule(lock_with("tensorflow-cpu", "2.2.0"), "horovod");
  ASSERT_TRUE(rule);
  EXPECT_EQ((std::vector<std::string>{"tensorflow-cpu"}), rule->with);
  EXPECT_EQ("1", rule->variables.at("HOROVOD_WITH_TENSORFLOW"));
  EXPECT_EQ("1", rule->variables.at("HOROVOD_WITHOUT_PYTORCH"));
  EXPECT_EQ("MPI", rule->variables.at("HOROVOD_CPU_OPERATIONS"));
  EXPECT_TRUE(rule->mpi);
  EXPECT_FALSE(build_rule(lock_with("tensorflow-cpu", "2.2.0"), "tensorflow-cpu"));
  auto torch = build_rule(lock_with("torch", "1.6.0"), "horovod");
  EXPECT_EQ("1", torch->variables.at("HOROVOD_WITH_PYTORCH"));
  EXPECT_FALSE(torch->variables.contains("HOROVOD_WITH_TENSORFLOW"));
}

TEST(BuildRule, IsNotForWheelsOfAnIndex) {
  auto lock = lock_with("torch", "1.6.0");
  lock.packages[0].source = PackageSource::index;
  EXPECT_FALSE(build_rule(lock, "horovod"));
}

TEST(BuildKey, IsOfEverythingTheWheelDependsOn) {
  auto key = [](const LockContent& lock, const std::string& mpi) {
    return build_key(lock, lock.packages[0], *build_rule(lock, "horovod"), mpi);
  };
  const auto lock = lock_with("tensorflow-cpu", "2.2.0");
  const std::string first = key(lock, "4.1.4");
  EXPECT_TRUE(first.starts_with("horovod-0.19.5-"));
  EXPECT_EQ(first, key(lock, "4.1.4"));
  EXPECT_NE(first, key(lock, "4.1.5"));
  EXPECT_NE(first, key(lock_with("tensorflow-cpu", "2.3.0"), "4.1.4"));
  auto other = lock;
  other.python = "3.7";
  EXPECT_NE(first, key(other, "4.1.4"));
  other = lock;
  other.packages[0].files[0].sha256 = base::sha256("another source");
  EXPECT_NE(first, key(other, "4.1.4"));
}

TEST(BuildPrograms, ThatAreMissingAreNamedWithTheirPackages) {
  BuildRule rule;
  rule.programs = {{"no-such-mpicxx", "libopenmpi-dev"}, {"no-such-mpirun", "openmpi-bin"}, {"sh", "dash"}};
  auto found = check_programs("horovod", rule, "/usr/bin/no-such-python3.1");
  ASSERT_FALSE(found);
  EXPECT_EQ("horovod must be built from source, and this machine lacks no-such-mpicxx, no-such-mpirun, Python.h",
            found.error().message());
  EXPECT_EQ("sudo apt-get install -y libopenmpi-dev openmpi-bin python3-dev", found.error().hint());
}

}  // namespace
}  // namespace lathe::envs
