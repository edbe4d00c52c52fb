#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/files.h"
#include "cli/help.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "cli/texts.h"

namespace lathe::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

base::Result<Arguments> parsed(std::initializer_list<const char*> words) {
  std::vector<const char*> all(words);
  return parse(all, catalogue());
}

TEST(Parser, TakesOptionsBeforeBetweenAndAfterTheCommandsWords) {
  auto typed = parsed({"--state", "/s", "run", "-o", "json", "list", "--limit=3"});
  ASSERT_TRUE(typed) << typed.error().text();
  EXPECT_EQ(typed->command, &kRunList);
  EXPECT_EQ(typed->find("state"), "/s");
  EXPECT_EQ(typed->find("output"), "json");
  EXPECT_EQ(typed->number("limit", 50, 1, 100).value(), 3);
}

TEST(Parser, LeavesEverythingAfterTheDashesToTheScript) {
  auto typed = parsed({"run", "submit", "--script", "train.py", "-f", "--", "--epochs", "3", "--", "-o"});
  ASSERT_TRUE(typed);
  EXPECT_TRUE(typed->has("follow"));
  EXPECT_THAT(typed->rest, ElementsAre("--epochs", "3", "--", "-o"));
}

TEST(Parser, ReadsLettersTogetherAndWithTheirValue) {
  auto typed = parsed({"run", "submit", "-fojson", "-tkey=value", "--script", "x"});
  ASSERT_TRUE(typed);
  EXPECT_TRUE(typed->has("follow"));
  EXPECT_EQ(typed->find("output"), "json");
  EXPECT_EQ(typed->pairs("tag").value().at(0).second, "value");
}

TEST(Parser, LetsTheLastOfTwoValuesWinAndKeepsAllOfARepeatedOption) {
  auto typed = parsed({"run", "submit", "-e", "a", "-e", "b", "--env", "A=1", "--env", "B=x=y"});
  ASSERT_TRUE(typed);
  EXPECT_EQ(typed->find("experiment"), "b");
  auto pairs = typed->pairs("env").value();
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[1], std::pair(std::string("B"), std::string("x=y")));
}

TEST(Parser, SuggestsTheNearestCommandAndOption) {
  EXPECT_EQ(parsed({"rum", "list"}).error().hint(), "did you mean 'lathe run'?");
  EXPECT_EQ(parsed({"run", "sumbit"}).error().hint(), "did you mean 'lathe run submit'?");
  EXPECT_EQ(parsed({"run", "submit", "--experment", "e"}).error().hint(), "did you mean --experiment?");
  EXPECT_THAT(parsed({"run", "submit", "--zzz"}).error().hint(), HasSubstr("lathe run submit --help"));
}

TEST(Parser, RefusesWhatTheTableDoesNotAllow) {
  EXPECT_THAT(parsed({"run", "list", "-o", "yaml"}).error().message(), HasSubstr("table|json"));
  EXPECT_THAT(parsed({"run", "show"}).error().message(), HasSubstr("RUN is missing"));
  EXPECT_THAT(parsed({"run", "show", "a", "b"}).error().message(), HasSubstr("'b' is one argument too many"));
  EXPECT_THAT(parsed({"run", "list", "--limit"}).error().message(), HasSubstr("wants a value"));
  EXPECT_THAT(parsed({"run", "logs", "--follow=yes", "r"}).error().message(), HasSubstr("takes no value"));
  EXPECT_THAT(parsed({"status", "--", "x"}).error().message(), HasSubstr("'--'"));
  EXPECT_EQ(base::exit_status(parsed({"status", "x"}).error().code()), 2);
}

TEST(Parser, RefusesNumbersOutsideTheirRange) {
  auto typed = parsed({"run", "list", "--limit", "0"});
  ASSERT_TRUE(typed);
  EXPECT_THAT(typed->number("limit", 50, 1, 100).error().message(), HasSubstr("from 1 to 100"));
  EXPECT_FALSE(parsed({"run", "list", "--limit", "3x"})->number("limit", 50, 1, 100));
  EXPECT_EQ(parsed({"run", "submit", "--priority", "-5"})->number("priority", 0, -10, 10).value(), -5);
}

TEST(Parser, GivesHelpForAGroupWithoutItsVerb) {
  auto typed = parsed({"run"});
  ASSERT_TRUE(typed);
  EXPECT_TRUE(typed->wants_help);
  EXPECT_EQ(typed->group, "run");
  EXPECT_EQ(parsed({"env", "lock"})->group, "env lock") << "a group inside of a group";
  EXPECT_EQ(parsed({"env", "lock", "show", "tf"})->command->path, "env lock show");
  EXPECT_FALSE(parsed({"lock"}));
  EXPECT_TRUE(parsed({})->wants_help);
  EXPECT_TRUE(parsed({"help"})->wants_help);
}

TEST(Parser, AnswersTheVersionForEveryCommandWithoutItsArguments) {
  EXPECT_TRUE(parsed({"--version"})->wants_version);
  EXPECT_TRUE(parsed({"runner", "--version"})->wants_version);
  EXPECT_TRUE(parsed({"run", "show", "--help"})->wants_help);
}

TEST(Suggest, CountsASwapOfNeighboursAsOneEdit) {
  EXPECT_EQ(edit_distance("sumbit", "submit"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(Suggest, IsSilentWhenNothingIsNear) {
  std::vector<std::string_view> words{"status", "doctor"};
  EXPECT_FALSE(nearest("kubernetes", words));
  EXPECT_EQ(nearest("stat", words), "status");
  EXPECT_FALSE(nearest(std::string(100'000, 'a'), words));
}

TEST(Catalogue, EveryCommandIsWholeAndItsOptionsDoNotHideGlobalOnes) {
  std::set<std::string_view> paths;
  for (const Command* command : catalogue().commands) {
    EXPECT_TRUE(paths.insert(command->path).second) << command->path;
    EXPECT_NE(command->run, nullptr) << command->path;
    EXPECT_FALSE(command->summary.empty()) << command->path;
    std::set<std::string_view> names{"help", "version"};
    std::set<char> letters{'h'};
    auto check = [&](const Option& option) {
      EXPECT_TRUE(names.insert(option.name).second) << command->path << " --" << option.name;
      EXPECT_FALSE(option.help.empty()) << command->path << " --" << option.name;
      if (option.letter) EXPECT_TRUE(letters.insert(option.letter).second) << command->path << " -" << option.letter;
    };
    for (const auto& option : catalogue().globals) check(option);
    for (const auto& option : command->options) check(option);
  }
}

TEST(Catalogue, EveryGroupHasCommandsAndEveryGroupedCommandItsGroup) {
  for (const auto& group : catalogue().groups) EXPECT_THAT(group_help(catalogue(), group.name), HasSubstr("commands:"));
  for (const Command* command : catalogue().commands) {
    auto space = command->path.find(' ');
    if (space == command->path.npos) continue;
    auto group = command->path.substr(0, space);
    EXPECT_TRUE(std::ranges::any_of(catalogue().groups, [&](const Group& g) { return g.name == group; })) << group;
  }
}

TEST(Help, NamesEveryVisibleCommandAndOption) {
  std::string all = overview_help(catalogue());
  for (const Command* command : catalogue().commands) {
    std::string own = command_help(catalogue(), *command);
    EXPECT_THAT(own, HasSubstr(usage_line(*command)));
    for (const auto& option : command->options)
      EXPECT_EQ(own.find(fmt::format("--{}", option.name)) != own.npos, !option.hidden) << command->path << option.name;
    if (!command->hidden) EXPECT_THAT(all, HasSubstr(std::string(command->path.substr(0, command->path.find(' ')))));
  }
}

TEST(Help, ShowsFormChoicesAndDefaults) {
  Option option{
      .name = "output", .letter = 'o', .value = "F", .help = "how", .fallback = "table", .choices = "table|json"};
  EXPECT_EQ(option_form(option), "-o, --output table|json");
  EXPECT_EQ(option_sentence(option), "how (default table)");
  EXPECT_EQ(usage_line(kRunSubmit), "lathe run submit [options] [-- ARGS…]");
}

TEST(Man, IsRoffWithEveryVisibleCommandAndExitStatus) {
  std::string page = man_page(catalogue(), "1.2.3");
  EXPECT_TRUE(page.starts_with(".TH LATHE 1"));
  EXPECT_THAT(page, HasSubstr(".SS lathe run submit"));
  EXPECT_THAT(page, HasSubstr("\\-\\-experiment"));
  EXPECT_EQ(page.find("ready\\-fd"), page.npos);
  for (const auto& row : exit_codes()) EXPECT_THAT(page, HasSubstr(fmt::format(".B {}\n", row.status)));
}

TEST(Reference, TheDocumentIsInStepWithTheTable) {
  auto written = read_small_file(LATHE_SOURCE_DIR "/docs/user/cli.md");
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_EQ(*written, reference_page(catalogue())) << "run: lathe reference > docs/user/cli.md";
}

TEST(ExitCodes, CoverEveryCodeOfTheErrorTable) {
  for (int i = 0; i <= static_cast<int>(base::Code::internal); ++i) {
    int status = base::exit_status(static_cast<base::Code>(i));
    EXPECT_TRUE(std::ranges::any_of(exit_codes(), [&](const ExitCode& row) { return row.status == status; })) << status;
  }
  auto operations = read_small_file(LATHE_SOURCE_DIR "/docs/user/operations.md").value();
  for (const auto& row : exit_codes()) EXPECT_THAT(operations, HasSubstr(fmt::format("\n| {} | ", row.status)));
  EXPECT_EQ(exit_for_run("Completed"), 0);
  EXPECT_EQ(exit_for_run("Failed"), 20);
  EXPECT_EQ(exit_for_run("Canceled"), 21);
}

TEST(Errors, AlwaysEndWithAHint) {
  EXPECT_EQ(error_text(base::Error(base::Code::invalid, "no").hint("do so").during("trying")),
            "error: no, while trying\nhint: do so");
  for (int i = 0; i <= static_cast<int>(base::Code::internal); ++i)
    EXPECT_THAT(error_text(base::Error(static_cast<base::Code>(i), "x")), HasSubstr("\nhint: "));
}

TEST(Progress, ShowsHowFarItCame) {
  EXPECT_EQ(Progress::line("uploading", 512, 1024), "uploading [############............]  50 %  512 B of 1.0 KiB");
  EXPECT_THAT(Progress::line("uploading", 0, 0), HasSubstr("100 %"));
}

}  // namespace
}  // namespace lathe::cli
