#include "envs/python_finder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace lathe::envs {
namespace {

namespace fs = std::filesystem;

// A machine with programs that answer as interpreters do, and a uv that cannot download.
class PythonChoosing : public testing::Test {
 protected:
  PythonChoosing() {
    settings_.cache = temp_.path() / "cache";
    settings_.uv = temp_.path() / "uv";
    settings_.pythons = {temp_.path() / "bin"};
    fs::create_directories(settings_.pythons[0]);
    script(settings_.uv,
           "echo \"$@\" >> " + (temp_.path() / "calls").string() + "; echo 'error: dns error' >&2; exit 1");
  }
  static void script(const fs::path& path, const std::string& body) {
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(path, fs::perms::owner_all);
  }
  void python(const std::string& minor, const std::string& says) {
    script(settings_.pythons[0] / ("python" + minor), "echo " + says);
  }
  base::Result<PythonChoice> choose(const std::string& asked) {
    auto log = [this](std::string_view line) { log_ += std::string(line) + "\n"; };
    return choose_python(settings_, *Substitutions::parse(""), *Uv::find(settings_, log, {}), asked, log, {});
  }
  support::TempFolder temp_;
  Settings settings_;
  std::string log_;
};

TEST_F(PythonChoosing, TakesTheMinorVersionThatIsAsked) {
  python("3.6", "3.6"), python("3.11", "3.11");
  auto choice = choose("3.6.2");
  ASSERT_TRUE(choice) << choice.error().text();
  EXPECT_EQ("3.6", choice->interpreter.minor);
  EXPECT_FALSE(choice->substitution);
}

TEST_F(PythonChoosing, TakesTheNextNewerOneByTheTable) {
  python("3.11", "3.11"), python("3.8", "3.8");
  auto choice = choose("3.6.2");
  ASSERT_TRUE(choice) << choice.error().text();
  EXPECT_EQ("3.8", choice->interpreter.minor);
  EXPECT_EQ("python 3.6.2", choice->substitution->asked);
  std::ifstream calls(temp_.path() / "calls");
  std::string first, second;
  std::getline(calls, first), std::getline(calls, second);
  EXPECT_EQ("python install 3.6 --no-bin", first);
  EXPECT_EQ("", second) << "one host that cannot be reached is asked once";
}

TEST_F(PythonChoosing, RefusesAnotherOneWhenStrict) {
  python("3.11", "3.11");
  settings_.strict = true;
  auto choice = choose("3.6");
  ASSERT_FALSE(choice);
  EXPECT_NE(std::string::npos, choice.error().message().find("here are: 3.11"));
  EXPECT_FALSE(choice.error().hint().empty());
}

TEST_F(PythonChoosing, SkipsWhatIsNotWhatItsNameSays) {
  python("3.6", "3.7"), python("3.7", "3.7");
  EXPECT_EQ("3.7", choose("3.6")->interpreter.minor);
}

TEST_F(PythonChoosing, TakesTheNewestOfARangeAndTheFirstWithoutAWish) {
  python("3.6", "3.6"), python("3.8", "3.8"), python("3.11", "3.11");
  EXPECT_EQ("3.8", choose(">=3.6,<3.9")->interpreter.minor);
  EXPECT_EQ("3.11", choose(">3.6")->interpreter.minor);
  EXPECT_FALSE(choose("<3.5"));
  EXPECT_EQ("3.11", choose("")->interpreter.minor);
  fs::create_symlink(settings_.pythons[0] / "python3.8", settings_.pythons[0] / "python3");
  EXPECT_EQ("3.8", choose("")->interpreter.minor) << "what python3 means";
}

TEST_F(PythonChoosing, SaysWhatIsHereWhenNothingFits) {
  auto choice = choose("3.6");
  ASSERT_FALSE(choice);
  EXPECT_NE(std::string::npos, choice.error().message().find("here are: none"));
}

TEST(Interpreters, OfThisMachineAreFoundWithoutShims) {
  for (const auto& python : find_interpreters({})) EXPECT_EQ(std::string::npos, python.path.string().find("/shims/"));
}

}  // namespace
}  // namespace lathe::envs
