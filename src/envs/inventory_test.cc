#include "envs/inventory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

class Environment : public testing::Test {
 protected:
  Environment() {
    file("bin/tool", "#!python\n");
    file(kSite + "six.py", "12345");
    file(kSite + "a,b/x.txt", "123");
    file(kSite + "six-1.12.0.dist-info/RECORD",
         "six.py,sha256=xx,5\r\n\"a,b/x.txt\",sha256=yy,3\n../../../bin/tool,,99\nsix-1.12.0.dist-info/RECORD,,18\n");
    file(kSite + "six/_vendor/wheel-1.dist-info/RECORD", "gone.py,sha256=xx,5\n");
    file(kSite + "__pycache__/six.pyc", "code");
    file("lathe-environment.json", "{}");
    fs::create_symlink("tool", temp_.path() / "bin/python");
  }
  void file(const std::string& name, const std::string& text) {
    fs::create_directories((temp_.path() / name).parent_path());
    std::ofstream(temp_.path() / name, std::ios::binary) << text;
  }
  const std::string kSite = "lib/python3.6/site-packages/";
  support::TempFolder temp_;
};

TEST_F(Environment, IsListedWithoutByteCodeAndMarker) {
  auto all = take_inventory(temp_.path());
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(6U, all->files.size());
  EXPECT_EQ(5U, all->files.at(kSite + "six.py"));
  EXPECT_EQ(all->files, parse_inventory(write_inventory(*all))->files);
}

TEST_F(Environment, ThatIsDamagedIsNoticed) {
  auto whole = take_inventory(temp_.path()).value();
  EXPECT_TRUE(damaged_files(temp_.path(), whole)->empty());
  file("new.txt", "more");
  EXPECT_TRUE(damaged_files(temp_.path(), whole)->empty()) << "more is no damage";
  file(kSite + "six.py", "1");
  fs::remove(temp_.path() / "bin/python");
  EXPECT_EQ((std::vector<std::string>{"bin/python", kSite + "six.py"}), *damaged_files(temp_.path(), whole));
}

TEST_F(Environment, KnowsWhichPackageADamagedFileIsOf) {
  EXPECT_TRUE(damaged_packages(temp_.path(), *take_inventory(temp_.path())).empty());
  file(kSite + "a,b/x.txt", "");
  auto inventory = take_inventory(temp_.path()).value();
  EXPECT_EQ((std::vector<std::string>{"six"}), damaged_packages(temp_.path(), inventory));
  EXPECT_EQ((std::vector<std::string>{"six"}), owners_of(temp_.path(), inventory, {kSite + "six.py"}));
  EXPECT_TRUE(owners_of(temp_.path(), inventory, {"pyvenv.cfg"}).empty());
}

TEST(InventoryText, ThatIsDamagedIsRefused) { EXPECT_FALSE(parse_inventory("12 a\nx b\n")); }

}  // namespace
}  // namespace lathe::envs
