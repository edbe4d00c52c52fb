#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launch/expand.h"
#include "launch/launcher.h"

namespace lathe::launch {
namespace {

namespace fs = std::filesystem;

TEST(ExpandVariables, ReplacesNamesWithAndWithoutBraces) {
  Variables variables{{"A", "1"}, {"LONG_name2", "two"}};
  EXPECT_EQ("x1y", expand_variables("x${A}y", variables));
  EXPECT_EQ("two/1", expand_variables("$LONG_name2/$A", variables));
  EXPECT_EQ("1", expand_variables("$A", variables));
}

TEST(ExpandVariables, LeavesWhatItDoesNotKnow) {
  Variables variables{{"A", "1"}};
  for (const char* text : {"$unknown", "${unknown}", "${A", "$", "a$", "$1", "${}", "${A b}", "^x$|y", "50$ each"})
    EXPECT_EQ(text, expand_variables(text, variables)) << text;
}

TEST(ExpandVariables, WritesADollarForTwoAndDoesNotExpandTwice) {
  Variables variables{{"A", "$B"}, {"B", "no"}};
  EXPECT_EQ("$A", expand_variables("$$A", variables));
  EXPECT_EQ("$B", expand_variables("$A", variables));
  EXPECT_EQ("$$B", expand_variables("$$$A", variables));
}

class PlainLauncherTest : public testing::Test {
 protected:
  PlainLauncherTest() {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "train.py") << "print(1)\n";
    input_.directory = folder_;
    input_.interpreter = "/opt/env/bin/python";
    input_.command.script = "train.py";
    input_.inherited = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/root"}};
    input_.identity = {"run-1", "exp", "ws", "sub", "group", "http://127.0.0.1:1", "secret", "2026-01-01T00:00:00Z"};
  }
  ~PlainLauncherTest() override { fs::remove_all(folder_); }

  fs::path folder_ = fs::path(testing::TempDir()) / fmt::format("launch-{}", ::getpid());
  LaunchInput input_;
};

TEST_F(PlainLauncherTest, RunsAScriptByTheInterpreterWithExpandedArguments) {
  input_.environment = {{"DATA", "/data"}};
  input_.command.arguments = {"--data", "$DATA/x", "--run=${AZUREML_RUN_ID}"};
  auto spec = PlainLauncher().prepare(input_);
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_EQ((std::vector<std::string>{"/opt/env/bin/python", "train.py", "--data", "/data/x", "--run=run-1"}),
            spec->argv);
  EXPECT_EQ(folder_.string(), spec->directory);
}

TEST_F(PlainLauncherTest, NeverPutsTheTokenIntoAnArgument) {
  input_.command.arguments = {"$AZUREML_RUN_TOKEN", "--token=${AZUREML_RUN_TOKEN}", "$AZUREML_RUN_ID"};
  EXPECT_EQ((std::vector<std::string>{"/opt/env/bin/python", "train.py", "$AZUREML_RUN_TOKEN",
                                      "--token=${AZUREML_RUN_TOKEN}", "run-1"}),
            PlainLauncher().prepare(input_)->argv);
}

TEST_F(PlainLauncherTest, TellsTheProcessWhoItIs) {
  auto environment = PlainLauncher().prepare(input_)->environment;
  EXPECT_EQ("run-1", environment["AZUREML_RUN_ID"]);
  EXPECT_EQ("exp", environment["AZUREML_ARM_PROJECT_NAME"]);
  EXPECT_EQ("secret", environment["AZUREML_RUN_TOKEN"]);
  EXPECT_EQ("http://127.0.0.1:1", environment["AZUREML_SERVICE_ENDPOINT"]);
  EXPECT_EQ("/opt/env/bin:/usr/bin:/bin", environment["PATH"]);
  EXPECT_EQ("1", environment["PYTHONUNBUFFERED"]);
  EXPECT_EQ("/root", environment["HOME"]);
}

TEST_F(PlainLauncherTest, LetsTheUsersVariablesWinButNotOverTheIdentity) {
  input_.environment = {{"PYTHONUNBUFFERED", ""}, {"HOME", "/home/u"}, {"AZUREML_RUN_ID", "forged"}};
  auto environment = PlainLauncher().prepare(input_)->environment;
  EXPECT_EQ("", environment["PYTHONUNBUFFERED"]);
  EXPECT_EQ("/home/u", environment["HOME"]);
  EXPECT_EQ("run-1", environment["AZUREML_RUN_ID"]);
}

TEST_F(PlainLauncherTest, ShowsExactlyTheGpusOfTheSlice) {
  EXPECT_FALSE(PlainLauncher().prepare(input_)->environment.contains("CUDA_VISIBLE_DEVICES"));
  input_.machine_has_gpu = true;
  EXPECT_EQ("", PlainLauncher().prepare(input_)->environment.at("CUDA_VISIBLE_DEVICES"));
  input_.slice.gpus = {"GPU-a", "GPU-b"};
  EXPECT_EQ("GPU-a,GPU-b", PlainLauncher().prepare(input_)->environment.at("CUDA_VISIBLE_DEVICES"));
}

TEST_F(PlainLauncherTest, FindsACommandInPathAndInTheRunFolder) {
  input_.command = {.script = "", .command = {"sh", "-c", "true"}, .arguments = {}};
  EXPECT_TRUE(PlainLauncher().prepare(input_)->argv[0].ends_with("/bin/sh"));
  std::ofstream(folder_ / "tool") << "#!/bin/sh\n";
  input_.command.command = {"./tool"};
  EXPECT_EQ(base::Code::not_found, PlainLauncher().prepare(input_).error().code()) << "it is not executable yet";
  fs::permissions(folder_ / "tool", fs::perms::owner_all);
  EXPECT_EQ((folder_ / "./tool").string(), PlainLauncher().prepare(input_)->argv[0]);
}

TEST_F(PlainLauncherTest, LeavesTheWordsOfACommandAloneButExpandsItsArguments) {
  input_.command = {.script = "", .command = {"/bin/sh", "-c", "echo $$ $HOME"}, .arguments = {"$HOME"}};
  EXPECT_EQ((std::vector<std::string>{"/bin/sh", "-c", "echo $$ $HOME", "/root"}),
            PlainLauncher().prepare(input_)->argv);
}

TEST_F(PlainLauncherTest, RefusesWhatCannotStartWithAHint) {
  input_.command.script = "missing.py";
  EXPECT_FALSE(PlainLauncher().prepare(input_).error().hint().empty());
  input_.command = {.script = "", .command = {"no-such-program"}, .arguments = {}};
  EXPECT_FALSE(PlainLauncher().prepare(input_).error().hint().empty());
  input_.command = {};
  EXPECT_EQ(base::Code::invalid, PlainLauncher().prepare(input_).error().code());
}

TEST(AllowedEnvironment, HoldsNoSecretAndWhatTheSiteNames) {
  const Variables given{{"AWS_SECRET_ACCESS_KEY", "hush"}, {"CUDA_HOME", "/cuda"},      {"TF_TOKEN", "hush"},
                        {"LC_ALL", "C"},                   {"HF_HOME", "/hf"},          {"HF_TOKEN", "named"},
                        {"http_proxy", "http://proxy:1"},  {"https_proxy", "http://me:hush@proxy:1"}};
  for (const auto& [name, value] : given) ::setenv(name.c_str(), value.c_str(), 1);
  const auto plain = allowed_environment({});
  EXPECT_EQ("/cuda", plain.at("CUDA_HOME"));
  EXPECT_EQ("C", plain.at("LC_ALL"));
  EXPECT_EQ("http://proxy:1", plain.at("http_proxy"));
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "TF_TOKEN", "HF_HOME", "https_proxy"})
    EXPECT_FALSE(plain.contains(name)) << name;
  EXPECT_EQ("named", allowed_environment({"HF_*"}).at("HF_TOKEN"));
  for (const auto& variable : given) ::unsetenv(variable.first.c_str());
}

TEST(InheritedEnvironment, LeavesTheRunnersOwnVariablesOut) {
  ::setenv("LATHE_RUN_TOKEN", "secret", 1);
  ::setenv("ORDINARY", "kept", 1);
  auto variables = inherited_environment();
  EXPECT_FALSE(variables.contains("LATHE_RUN_TOKEN"));
  EXPECT_EQ("kept", variables.at("ORDINARY"));
}

}  // namespace
}  // namespace lathe::launch
