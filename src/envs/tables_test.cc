#include <gtest/gtest.h>

#include "envs/conda_names.h"
#include "envs/known_metadata.h"
#include "envs/substitutions.h"
#include "envs/version.h"

namespace lathe::envs {
namespace {

TEST(Version, IsComparedByItsNumbers) {
  EXPECT_LT(compare_versions("2.9.1", "2.10"), 0);
  EXPECT_EQ(0, compare_versions("2.0", "2.0.0"));
  EXPECT_GT(compare_versions("1.13.1+cpu", "1.13"), 0);
  EXPECT_TRUE(version_in_range("2.12.0", ">=2.6,<2.16"));
  EXPECT_FALSE(version_in_range("2.16.1", ">=2.6,<2.16"));
  EXPECT_TRUE(version_in_range("3.6", "3.6.*"));
  EXPECT_TRUE(version_in_range("3.7.2", "~=3.7.0"));
  EXPECT_FALSE(version_in_range("3.7.2", "!=3.7.*"));
  EXPECT_TRUE(version_in_range("3.6.15", "3.6"));
}

TEST(Substitutions, BuiltInKnowNewerPythonsFirst) {
  auto table = Substitutions::parse("");
  ASSERT_TRUE(table) << table.error().text();
  auto pythons = table->pythons_instead("3.6");
  ASSERT_GT(pythons.size(), 3U);
  EXPECT_EQ("3.7", pythons[0]);
  EXPECT_EQ("3.8", pythons[1]);
  EXPECT_EQ("3.5", pythons.back());
}

TEST(Substitutions, BuiltInReplaceTensorflowGpuWithoutAGpu) {
  auto table = Substitutions::parse("");
  const auto* rule = table->for_package({"tensorflow-gpu", "2.2.0", false, {}});
  ASSERT_TRUE(rule);
  EXPECT_EQ((std::vector<std::string>{"tensorflow-cpu", "tensorflow"}), rule->given);
  EXPECT_FALSE(table->for_package({"tensorflow-gpu", "2.2.0", true, {}}));
  EXPECT_TRUE(table->for_package({"tensorflow-gpu", "2.12.0", true, {}}));
}

TEST(Substitutions, BuiltInLeaveOutWhatNeedsAGpu) {
  auto table = Substitutions::parse("");
  EXPECT_EQ("none", table->for_package({"cupy-cuda90", "5.1.0", false, {}})->given.at(0));
  EXPECT_FALSE(table->for_package({"cupy-cuda90", "5.1.0", true, {}}));
}

TEST(Substitutions, MayDependOnThePython) {
  auto table = Substitutions::parse("");
  auto given = [&](const char* version, const char* python) -> std::string {
    const auto* rule = table->for_package({"mpi4py", version, false, {}, python});
    return rule ? rule->given.at(0) : "";
  };
  EXPECT_EQ("mpi4py==3.0.3", given("3.0.0", "3.6"));
  EXPECT_EQ("mpi4py==3.1.4", given("3.0.0", "3.11"));
  EXPECT_EQ("", given("3.0.3", "3.6"));
}

TEST(Substitutions, BuiltInKnowWhichHorovodBuildsWithWhichTensorflow) {
  auto table = Substitutions::parse("");
  EXPECT_FALSE(table->for_package({"horovod", "0.19.5", false, {{"tensorflow-cpu", "2.2.0"}}}));
  EXPECT_EQ("horovod==0.28.1",
            table->for_package({"horovod", "0.19.5", false, {{"tensorflow-cpu", "2.12.0"}}})->given.at(0));
  EXPECT_FALSE(table->for_package({"horovod", "0.28.1", false, {{"tensorflow", "2.12.0"}}}));
  EXPECT_FALSE(table->for_package({"horovod", "0.28.1", false, {{"tensorflow", "2.16.1"}}})->refuse.empty());
}

TEST(Substitutions, BuiltInRunVendorImagesWithoutAnImage) {
  auto table = Substitutions::parse("");
  ASSERT_TRUE(table->for_image("mcr.microsoft.com/azureml/openmpi3.1.2-ubuntu18.04"));
  EXPECT_EQ("none", table->for_image("mcr.microsoft.com/azureml/base")->given);
  EXPECT_FALSE(table->for_image("tensorflow/tensorflow:2.2.0"));
}

TEST(Substitutions, OfASiteReplaceTheBuiltInOnes) {
  auto table = Substitutions::parse("python: {'3.6': ['3.8']}\npackages: [{asked: a, given: [b], why: w}]\n");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ((std::vector<std::string>{"3.8"}), table->pythons_instead("3.6"));
  EXPECT_TRUE(table->pythons_instead("3.7").empty());
  EXPECT_TRUE(table->for_package({"a", "", false, {}}));
  EXPECT_FALSE(table->may_take_nearest("a"));
}

TEST(Substitutions, ThatAreWrongAreRefused) {
  for (const char* text : {"pythons: {}", "packages: [{asked: a}]", "packages: [{asked: a, given: [b], when: never}]",
                           "packages: [{asked: a, givn: [b]}]", "images: [{asked: x}]", ": :", "python: {a: [[1]]}"})
    EXPECT_FALSE(Substitutions::parse(text)) << text;
}

TEST(KnownMetadata, IsForPackagesThatCannotTellThemselves) {
  EXPECT_NE(
      std::string::npos,
      known_metadata().find("name = \"pandas\"\nversion = \"0.24.2\"\nrequires-dist = [\"python-dateutil>=2.5.0\", "));
}

TEST(Pattern, KnowsStars) {
  EXPECT_TRUE(matches_pattern("mcr.*/azureml/*", "mcr.microsoft.com/azureml/base"));
  EXPECT_FALSE(matches_pattern("mcr.*", "docker.io/mcr."));
  EXPECT_TRUE(matches_pattern("*", ""));
}

TEST(CondaNames, AreMappedToPypi) {
  auto requirement = [](const char* text) { return conda_on_pypi(*parse_conda_package(text)).value().requirement; };
  EXPECT_EQ("scikit-learn==0.22.1", requirement("scikit-learn=0.22.1"));
  EXPECT_EQ("numpy==1.18.*", requirement("conda-forge::numpy=1.18"));
  EXPECT_EQ("torch>=1,<2", requirement("pytorch>=1,<2"));
  EXPECT_EQ("opencv-python-headless", requirement("opencv"));
  EXPECT_EQ("pandas==1.0.5", requirement("pandas==1.0.5=py36_0"));
  EXPECT_EQ("", requirement("cudatoolkit=10.1"));
  EXPECT_FALSE(conda_on_pypi(*parse_conda_package("r-base=3.6")));
  EXPECT_FALSE(conda_on_pypi(*parse_conda_package("my-channel::numpy")));
}

}  // namespace
}  // namespace lathe::envs
