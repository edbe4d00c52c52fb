// The completions are run by the shell itself: what matters is what a Tab offers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/texts.h"

namespace lathe::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What bash offers after these words, one per line.
std::string offered(const std::string& words) {
  auto script = std::filesystem::temp_directory_path() / fmt::format("lathe-completion-{}.bash", ::getpid());
  EXPECT_TRUE(
      replace_file(script, bash_completion(catalogue()) + "COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _lathe; printf '%s\\n' \"${COMPREPLY[@]}\"\n"));
  std::string out;
  FILE* pipe = ::popen(fmt::format("bash --norc {}", script.string()).c_str(), "r");
  char buffer[4096];
  while (std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
  EXPECT_EQ(::pclose(pipe), 0);
  std::filesystem::remove(script);
  return out;
}

TEST(BashCompletion, OffersTheCommandsOfAGroup) {
  EXPECT_THAT(offered("lathe run sub"), HasSubstr("submit"));
  EXPECT_THAT(offered("lathe run ''"), HasSubstr("download"));
  EXPECT_THAT(offered("lathe ''"), HasSubstr("doctor"));
  EXPECT_THAT(offered("lathe ''"), Not(HasSubstr("reference")));
}

TEST(BashCompletion, DoesNotTakeTheValueOfAnOptionForACommand) {
  EXPECT_EQ(offered("lathe --output json run sub"), "submit\n");
  EXPECT_EQ(offered("lathe run --workspace run sub"), "submit\n");
  EXPECT_EQ(offered("lathe --output=json run sub"), "submit\n");
}

TEST(BashCompletion, OffersTheOptionsOfTheCommandAndTheGlobalOnes) {
  EXPECT_EQ(offered("lathe run submit --exp"), "--experiment\n");
  EXPECT_EQ(offered("lathe status --st"), "--state\n");
  EXPECT_EQ(offered("lathe server --read"), "\n");
}

TEST(BashCompletion, OffersTheChoicesOfAnOption) {
  EXPECT_EQ(offered("lathe run list -o j"), "json\n");
  EXPECT_EQ(offered("lathe token create --role op"), "operator\n");
}

TEST(ZshCompletion, DescribesEveryVisibleCommand) {
  std::string script = zsh_completion(catalogue());
  EXPECT_TRUE(script.starts_with("#compdef lathe\n"));
  for (const Command* command : catalogue().commands)
    if (!command->hidden) EXPECT_THAT(script, HasSubstr(fmt::format("'{}'|", command->path)));
}

}  // namespace
}  // namespace lathe::cli
