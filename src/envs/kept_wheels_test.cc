#include "envs/kept_wheels.h"

#include <gtest/gtest.h>

#include <fstream>

#include "envs/uv.h"
#include "support/temp_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

LockContent lock_of(const std::string& as_of) {
  LockContent lock;
  lock.python = "3.11";
  lock.platform = "linux-x86_64";
  lock.era.as_of = as_of;
  lock.packages = {{"a-b", "1.0", PackageSource::built, {{"a_b-1.0.tar.gz", base::sha256("a")}}, {}, {}},
                   {"horovod", "0.19.5", PackageSource::built, {{"h.tar.gz", base::sha256("h")}}, {}, {}},
                   {"wheel", "2.0", PackageSource::index, {{"w.whl", base::sha256("w")}}, {}, {}}};
  return lock;
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// As uv leaves it: source, wheel, and a link to what it unpacked.
void build_in_uv(const fs::path& cache, const std::string& revision, const std::string& archive) {
  const fs::path place = cache / "sdists-v10/pypi/a-b/1.0" / revision;
  write(place / "src/dist/a_b-1.0-py3-none-any.whl", "not this one");
  write(place / "a_b-1.0-py3-none-any.whl", "wheel of " + revision);
  write(cache / "archive-v0" / archive / "a_b-1.0.dist-info/METADATA", "metadata");
  fs::create_directory_symlink(cache / "archive-v0" / archive, place / "a_b-1.0-py3-none-any");
}

struct KeptWheels : testing::Test {
  KeptWheels() { settings.cache = temp.path() / "cache"; }
  void install(const std::string& archive) {
    const fs::path site = prefix / "lib/python3.11/site-packages/a_b-1.0.dist-info";
    fs::create_directories(site);
    fs::create_hard_link(package_cache(settings) / "archive-v0" / archive / "a_b-1.0.dist-info/METADATA",
                         site / "METADATA");
  }
  std::string kept() {
    auto found = find_ordinary_wheels(settings, lock_of("2020"));
    if (!found.contains("a-b")) return "";
    std::ifstream file(found.at("a-b"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  support::TempFolder temp;
  Settings settings;
  fs::path prefix = temp.path() / "environment";
};

TEST_F(KeptWheels, AreThoseWhoseFilesWereInstalled) {
  build_in_uv(package_cache(settings), "older", "one");
  build_in_uv(package_cache(settings), "newer", "two");
  install("two");
  ASSERT_TRUE(keep_ordinary_wheels(settings, lock_of("2020"), prefix));
  EXPECT_EQ("wheel of newer", kept());
  EXPECT_EQ(1U, find_ordinary_wheels(settings, lock_of("2020")).size());
}

TEST_F(KeptWheels, AreNotThoseThatWereInstalledFromElsewhere) {
  build_in_uv(package_cache(settings), "one", "one");
  write(prefix / "lib/python3.11/site-packages/a_b-1.0.dist-info/METADATA", "metadata");
  ASSERT_TRUE(keep_ordinary_wheels(settings, lock_of("2020"), prefix));
  EXPECT_EQ("", kept());
}

TEST_F(KeptWheels, AreForTheSameEraOnly) {
  build_in_uv(package_cache(settings), "one", "one");
  install("one");
  ASSERT_TRUE(keep_ordinary_wheels(settings, lock_of("2021"), prefix));
  EXPECT_TRUE(find_ordinary_wheels(settings, lock_of("2021")).contains("a-b"));
  EXPECT_TRUE(find_ordinary_wheels(settings, lock_of("2020")).empty());
  EXPECT_TRUE(find_ordinary_wheels(settings, lock_of("")).empty());
}

TEST_F(KeptWheels, StayWhenAnotherComesSecond) {
  build_in_uv(package_cache(settings), "one", "one");
  install("one");
  ASSERT_TRUE(keep_ordinary_wheels(settings, lock_of("2020"), prefix));
  write(temp.path() / "a_b-1.0-py3-none-any.whl", "second");
  const std::string key = build_key(lock_of("2020"), lock_of("2020").packages[0], ordinary_rule(lock_of("2020")), "");
  ASSERT_TRUE(keep_wheel(settings, key, temp.path() / "a_b-1.0-py3-none-any.whl"));
  EXPECT_EQ("wheel of one", kept());
}

}  // namespace
}  // namespace lathe::envs
