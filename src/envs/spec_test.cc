#include "envs/spec.h"

#include <gtest/gtest.h>

#include "envs/pip_lines.h"

namespace lathe::envs {
namespace {

std::string with_dependencies(const std::string& list) {
  return R"({"name":"e","python":{"condaDependencies":{"channels":["conda-forge","nodefaults"],"dependencies":)" +
         list + "}}}";
}

base::Result<Spec> with_pip(const std::string& line) {
  return parse_definition(with_dependencies(R"([{"pip":[")" + line + R"("]}])"));
}

TEST(Definition, TakesApartWhatTheSdkWrites) {
  auto spec = parse_definition(R"({
    "name": "AzureML-TensorFlow-2.2-GPU", "version": "44",
    "environmentVariables": {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"},
    "python": {"interpreterPath": "python", "userManagedDependencies": false, "baseCondaEnvironment": null,
      "condaDependencies": {"channels": ["anaconda", "conda-forge"], "name": "x", "dependencies": [
        "python=3.6.2", "Scikit-Learn=0.20", "pip", {"pip": ["azureml-core==1.15.0", "azureml_defaults",
        "tensorflow-gpu==2.2.0  # the one", "--extra-index-url https://example.org/simple", "horovod==0.19.5"]}]}},
    "docker": {"enabled": true, "baseImage": "mcr.microsoft.com/azureml/base", "baseDockerfile": null},
    "inferencingStackVersion": null})");
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_EQ("3.6.2", spec->python);
  EXPECT_EQ((std::vector<std::string>{"tensorflow-gpu==2.2.0", "horovod==0.19.5"}), spec->pip);
  EXPECT_EQ((std::vector<std::string>{"azureml-core", "azureml-defaults"}), spec->sdk_names);
  EXPECT_EQ((std::vector<CondaPackage>{{"scikit-learn", "0.20", "", ""}}), spec->conda);
  EXPECT_EQ((std::vector<std::string>{"https://example.org/simple"}), spec->options.extra_indexes);
  EXPECT_EQ("EXAMPLE_VALUE", spec->variables.at("EXAMPLE_ENV_VAR"));
  EXPECT_TRUE(spec->image.wanted());
  EXPECT_FALSE(spec->is_plain());
}

TEST(Definition, OfNothingIsPlain) {
  auto spec = parse_definition(R"({"name": null})");
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_TRUE(spec->is_plain());
  EXPECT_FALSE(spec->user_managed);
}

TEST(Definition, OfAUserManagedInterpreterIgnoresTheDefaultPackages) {
  auto spec = parse_definition(
      R"({"python":{"userManagedDependencies":true,"interpreterPath":"/usr/bin/python3",
          "condaDependencies":{"dependencies":["python=3.8.13"]}}})");
  ASSERT_TRUE(spec);
  EXPECT_TRUE(spec->user_managed);
  EXPECT_EQ("/usr/bin/python3", spec->interpreter);
  EXPECT_TRUE(spec->python.empty());
}

TEST(Definition, KeepsTheChannelsButNotTheWordNodefaults) {
  EXPECT_EQ((std::vector<std::string>{"conda-forge"}), parse_definition(with_dependencies("[]"))->channels);
}

TEST(Definition, SaysWhichFieldIsWrong) {
  for (const char* text :
       {"[]", "{", R"({"python":1})", R"({"python":{"condaDependencies":{"dependencies":"numpy"}}})",
        R"({"python":{"condaDependencies":{"dependencies":[{"npm":["x"]}]}}})", R"({"docker":{"enabled":"yes"}})",
        R"({"environmentVariables":{"A=B":"c"}})", R"({"environmentVariables":{"LATHE_AS_OF":"tomorrow"}})",
        R"({"python":{"baseCondaEnvironment":"base"}})"}) {
    auto spec = parse_definition(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(base::Code::invalid, spec.error().code()) << text;
  }
  EXPECT_EQ("environmentVariables.LATHE_AS_OF",
            parse_definition(R"({"environmentVariables":{"LATHE_AS_OF":"tomorrow"}})").error().field());
}

TEST(Definition, TakesTheDateOfTheEraFromAVariable) {
  auto spec = parse_definition(R"({"environmentVariables":{"LATHE_AS_OF":"2020-12-31"}})");
  ASSERT_TRUE(spec);
  EXPECT_EQ("2020-12-31", spec->as_of);
  EXPECT_TRUE(spec->variables.empty());
}

TEST(PipOptions, AreTakenInEverySpelling) {
  EXPECT_EQ("https://a/s", with_pip("--index-url=https://a/s")->options.index);
  EXPECT_EQ("https://a/s", with_pip("-i https://a/s")->options.index);
  EXPECT_EQ("requirements.txt", with_pip("-r requirements.txt")->options.requirement_files.at(0));
  EXPECT_EQ("sub/req.txt", with_pip("-rsub/req.txt")->options.requirement_files.at(0));
  EXPECT_EQ("wheels", with_pip("--find-links wheels")->options.find_links.at(0));
  EXPECT_EQ("c.txt", with_pip("--constraint c.txt")->options.constraint_files.at(0));
  EXPECT_EQ((std::vector<std::string>{"a", "b"}), with_pip("--no-binary a,b")->options.no_binary);
  EXPECT_TRUE(with_pip("--pre")->options.prereleases);
  EXPECT_TRUE(with_pip("--trusted-host example.org")->pip.empty());
}

TEST(PipLines, ThatCannotWorkAreRefusedWithAHint) {
  for (const char* line :
       {"-e .", "--editable git+https://x/y", "--target x", "--install-option=--cuda", "-r ../requirements.txt",
        "-r /etc/requirements.txt", "--extra-index-url https://user:secret@example.org/simple", "hg+https://x/y",
        "git+https://token@example.org/x", "../wheels/a.whl", "??? what"}) {
    auto spec = with_pip(line);
    ASSERT_FALSE(spec) << line;
    EXPECT_FALSE(spec.error().hint().empty()) << line;
    EXPECT_EQ(std::string::npos, spec.error().text().find("secret")) << line;
  }
}

TEST(PipLines, MayNameGitAndWheelsOfTheSourceFolder) {
  EXPECT_EQ(1U, with_pip("git+https://example.org/x.git@abc#egg=x")->pip.size());
  EXPECT_EQ(1U, with_pip("./wheels/a-1.0-py3-none-any.whl")->pip.size());
  EXPECT_EQ(1U, with_pip("name @ https://example.org/name-1.0.tar.gz")->pip.size());
  EXPECT_EQ(1U, with_pip("git+ssh://git@example.org/x.git")->pip.size());
}

TEST(RequirementsFile, IsReadByLogicalLines) {
  EXPECT_EQ((std::vector<std::string>{"a==1   --hash=sha256:00", "b[c]>2"}),
            requirement_lines("# top\na==1 \\\n  --hash=sha256:00\r\n\nb[c]>2 # why\n"));
}

TEST(Requirement, HasANameAndMaybeAPin) {
  EXPECT_EQ("foo-bar", distribution_name("Foo__Bar[gpu,x]>=1.2; python_version<'3'"));
  EXPECT_EQ("", distribution_name("git+https://x/y"));
  EXPECT_EQ("2.2.0", exact_pin("tensorflow == 2.2.0 ; python_version < '3.9'"));
  EXPECT_EQ("2.0", exact_pin("a===2.0"));
  for (const char* text : {"a", "a>=1", "a==1.*", "a==1,<2", "a>0,==1", "a~=1.0"})
    EXPECT_FALSE(exact_pin(text)) << text;
}

TEST(CondaPackage, IsReadInEveryForm) {
  EXPECT_EQ((CondaPackage{"numpy", "1.18", "", ""}), parse_conda_package("numpy=1.18"));
  EXPECT_EQ((CondaPackage{"numpy", "==1.18.5", "", ""}), parse_conda_package("NumPy==1.18.5"));
  EXPECT_EQ((CondaPackage{"numpy", ">=1,<2", "", ""}), parse_conda_package("numpy >=1, <2"));
  EXPECT_EQ((CondaPackage{"numpy", "1.18.5", "py36_0", "conda-forge"}),
            parse_conda_package("conda-forge::numpy=1.18.5=py36_0"));
  EXPECT_EQ((CondaPackage{"cudatoolkit", "", "", ""}), parse_conda_package("cudatoolkit"));
  EXPECT_EQ("conda-forge::numpy=1.18.5=py36_0", parse_conda_package("conda-forge::numpy=1.18.5=py36_0")->text());
  EXPECT_EQ("numpy>=1,<2", parse_conda_package("numpy>=1,<2")->text());
  for (const char* text : {"", "=1", "a[b]", "a/b=1"}) EXPECT_FALSE(parse_conda_package(text)) << text;
}

}  // namespace
}  // namespace lathe::envs
