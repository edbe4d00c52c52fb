#include "envs/uv.h"

#include <gtest/gtest.h>

#include <fstream>

#include "envs/index_environment.h"
#include "support/temp_folder.h"

namespace lathe::envs {
namespace {

bool has(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

TEST(Indexes, HaveTheirCredentialsInVariablesOnly) {
  Settings settings;
  settings.index = "https://index.example.org/simple";
  settings.credentials = [](std::string_view url) -> std::optional<Credential> {
    if (!url.starts_with("https://private")) return std::nullopt;
    return Credential{"me", "sesame"};
  };
  PipOptions options;
  options.extra_indexes = {"https://private.example.org/simple"};
  std::vector<std::string> environment;
  auto secrets = set_indexes(environment, settings, options);
  EXPECT_TRUE(has(environment, "UV_DEFAULT_INDEX=lathe0=https://index.example.org/simple"));
  EXPECT_TRUE(has(environment, "UV_INDEX=lathe1=https://private.example.org/simple"));
  EXPECT_TRUE(has(environment, "UV_INDEX_LATHE1_USERNAME=me"));
  EXPECT_TRUE(has(environment, "UV_INDEX_LATHE1_PASSWORD=sesame"));
  EXPECT_EQ((std::vector<std::string>{"sesame"}), secrets);
}

TEST(Indexes, OfADefinitionComeInsteadOfTheSites) {
  Settings settings;
  settings.index = "https://a/simple";
  PipOptions options;
  options.index = "https://user:pw@b/simple";
  std::vector<std::string> environment;
  EXPECT_EQ((std::vector<std::string>{"pw"}), set_indexes(environment, settings, options));
  EXPECT_TRUE(has(environment, "UV_DEFAULT_INDEX=lathe0=https://b/simple"));
}

TEST(Indexes, OfPipAreTakenOver) {
  std::vector<std::string> environment{"PIP_INDEX_URL=https://a/simple", "PIP_EXTRA_INDEX_URL=https://b/simple",
                                       "PIP_FIND_LINKS=/no/such/folder /"};
  set_indexes(environment, {}, {});
  EXPECT_TRUE(has(environment, "UV_DEFAULT_INDEX=https://a/simple"));
  EXPECT_TRUE(has(environment, "UV_INDEX=https://b/simple"));
  EXPECT_TRUE(has(environment, "UV_FIND_LINKS=/"));
}

TEST(Secrets, AreTakenOutOfLines) {
  EXPECT_EQ("https://***@x and ***", without_secrets("https://abc@x and abc", {"abc", ""}));
}

// A program that stands in the place of uv and says what it got.
TEST(Uv, RunsWithItsOwnCacheAndKeepsSecretsOutOfTheLog) {
  support::TempFolder temp;
  Settings settings;
  settings.cache = temp.path() / "cache";
  settings.uv = temp.path() / "uv";
  settings.index = "https://me:sesame@example.org/simple";
  std::ofstream(settings.uv)
      << "#!/bin/sh\necho \"$UV_CACHE_DIR\"\necho \"it is $UV_INDEX_LATHE0_PASSWORD\" >&2\nexit 3\n";
  std::filesystem::permissions(settings.uv, std::filesystem::perms::owner_all);
  std::string logged;
  auto log = [&](std::string_view line) { logged += line; };
  auto uv = Uv::find(settings, log, {});
  ASSERT_TRUE(uv) << uv.error().text();
  auto answer = uv->run({}, log, {});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(3, answer->status);
  EXPECT_EQ((settings.cache / "uv").string() + "\n", answer->output);
  EXPECT_EQ("it is ***", logged);
  EXPECT_EQ("it is ***\n", answer->complaint);
}

TEST(Uv, ThatTheSiteNamesMustBeThere) {
  Settings settings;
  settings.uv = "/no/such/uv";
  auto uv = Uv::find(settings, {}, {});
  ASSERT_FALSE(uv);
  EXPECT_FALSE(uv.error().hint().empty());
}

TEST(FolderLink, IsAUrlWhereAPathWouldBeCut) {
  EXPECT_EQ("/a:b/c d", folder_link("/a:b/c d"));
  EXPECT_EQ("file:///a%2Cb/c%20d%25", folder_link("/a,b/c d%"));
}

}  // namespace
}  // namespace lathe::envs
