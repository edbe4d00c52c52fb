#include "envs/requirements.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

class Gathering : public testing::Test {
 protected:
  Gathering() { settings_.source_folder = temp_.path(); }
  void file(const std::string& name, const std::string& text) {
    fs::create_directories((temp_.path() / name).parent_path());
    std::ofstream(temp_.path() / name) << text;
  }
  base::Result<Requirements> gather() { return gather_requirements(settings_, spec_); }
  support::TempFolder temp_;
  Settings settings_;
  Spec spec_;
};

TEST_F(Gathering, ReadsRequirementFilesAndThoseThatTheyName) {
  file("requirements.txt", "numpy==1.18.5\nazureml-core\n-r more/b.txt\n-c c.txt\n-r requirements.txt\n");
  file("more/b.txt", "--extra-index-url https://example.org/simple\npandas\n");
  file("c.txt", "six<1.16\nazureml-core==1\n");
  spec_.pip = {"scipy"};
  spec_.options.requirement_files = {"requirements.txt"};
  auto all = gather();
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ((std::vector<std::string>{"scipy", "numpy==1.18.5", "pandas"}), all->list);
  EXPECT_EQ((std::vector<std::string>{"six<1.16"}), all->constraints);
  EXPECT_EQ("https://example.org/simple", all->options.extra_indexes.at(0));
}

TEST_F(Gathering, MakesCondaPackagesIntoRequirementsWherePypiHasThem) {
  spec_.conda = {{"pytorch", "1.6.0", "", ""}, {"r-base", "3.6", "", ""}, {"cudatoolkit", "10.1", "", ""}};
  auto all = gather();
  ASSERT_TRUE(all);
  EXPECT_EQ((std::vector<std::string>{"torch==1.6.0"}), all->list);
  EXPECT_EQ((std::vector<CondaPackage>{{"r-base", "3.6", "", ""}}), all->conda);
}

TEST_F(Gathering, FindsWheelsInTheSourceFolderOnly) {
  file("wheels/a-1-py3-none-any.whl", "x");
  spec_.pip = {"./wheels/a-1-py3-none-any.whl"};
  EXPECT_EQ(fs::canonical(temp_.path() / "wheels/a-1-py3-none-any.whl").string(), gather()->list.at(0));
  spec_.pip = {"./missing.whl"};
  EXPECT_EQ(base::Code::not_found, gather().error().code());
  fs::create_symlink("/etc/passwd", temp_.path() / "out.whl");
  spec_.pip = {"./out.whl"};
  EXPECT_EQ(base::Code::forbidden, gather().error().code());
  spec_.pip = {"./wheels"};
  EXPECT_EQ(base::Code::unsupported, gather().error().code());
  settings_.source_folder.clear();
  spec_.pip = {"./wheels/a-1-py3-none-any.whl"};
  EXPECT_FALSE(gather().error().hint().empty());
}

}  // namespace
}  // namespace lathe::envs
