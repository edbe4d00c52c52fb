#include "server/alias_wheels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace lathe::server {
namespace {

bool has(std::string_view project, std::string_view version) {
  return std::ranges::count(alias_versions(project), version) == 1;
}

TEST(AliasWheels, HaveTheVersionsThatOldScriptsPin) {
  for (const char* version :
       {"1.0.2", "1.0.17.1", "1.0.43", "1.0.85", "1.1.5", "1.6.0.post1", "1.15.0", "1.30.0", "1.47.0", "1.60.0"})
    EXPECT_TRUE(has("azureml-core", version)) << version;
  EXPECT_TRUE(has("azureml-dataprep", "1.1.38"));
  EXPECT_TRUE(has("azureml-dataprep", "4.12.1"));
  EXPECT_FALSE(has("azureml-core", "2.0.0"));
  auto all = alias_versions("azureml-defaults");
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
}

TEST(AliasWheels, AreKnownByTheirFileNamesAlone) {
  std::string project, version;
  ASSERT_TRUE(parse_alias_wheel_name("azureml_train_core-1.15.0-py3-none-any.whl", project, version));
  EXPECT_EQ(project, "azureml-train-core");
  EXPECT_EQ(version, "1.15.0");
  EXPECT_EQ(alias_wheel_name(project, version), "azureml_train_core-1.15.0-py3-none-any.whl");
  for (const char* name : {"azureml_core-9.9.9-py3-none-any.whl", "azureml_core-1.15.0.tar.gz", "x-py3-none-any.whl",
                           "azureml_core-1.15.0-evil-py3-none-any.whl", ""})
    EXPECT_FALSE(parse_alias_wheel_name(name, project, version)) << name;
}

TEST(AliasWheels, AreTheSameEachTime) {
  auto wheel = make_alias_wheel("azureml-core", "1.15.0", "lathe-sdk (==0.1.0)");
  EXPECT_EQ(wheel, make_alias_wheel("azureml-core", "1.15.0", "lathe-sdk (==0.1.0)"));
  EXPECT_NE(wheel.find("Requires-Dist: lathe-sdk (==0.1.0)\n"), std::string::npos);
  EXPECT_NE(wheel.find("Version: 1.15.0\n"), std::string::npos);
}

}  // namespace
}  // namespace lathe::server
