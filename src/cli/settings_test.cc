#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/run_id.h"
#include "cli/settings.h"

namespace lathe::cli {
namespace fs = std::filesystem;
namespace {

using ::testing::HasSubstr;

const std::string kToken = "lathe_" + std::string(40, 'x') + "-_9";

class SettingsTest : public ::testing::Test {
 protected:
  fs::path root = fs::temp_directory_path() / fmt::format("lathe-settings-{}", base::to_hex(base::random_bytes(6)));
  SettingsTest() { fs::create_directories(root / "project/deep/deeper"); }
  ~SettingsTest() override { fs::remove_all(root); }

  void write(const std::string& file, std::string_view text) {
    fs::create_directories((root / file).parent_path());
    ASSERT_TRUE(replace_file(root / file, text));
  }
  Settings settings(std::vector<const char*> words = {}, std::map<std::string, std::string> variables = {}) {
    words.insert(words.begin(), {"run", "list"});
    variables.emplace("HOME", (root / "home").string());
    auto arguments = parse(words, catalogue());
    return make_settings(arguments.value(), {std::move(variables), root / "project/deep"}).value();
  }
};

TEST_F(SettingsTest, TheStateFolderIsTheUsersOwnUnlessSaidOtherwise) {
  EXPECT_EQ(settings().state, root / "home/.local/state/lathe");
  EXPECT_EQ(settings({}, {{"XDG_STATE_HOME", "/xdg"}}).state, "/xdg/lathe");
  EXPECT_EQ(settings({}, {{"LATHE_STATE", "/env"}}).state, "/env");
  EXPECT_EQ(settings({"--state", "/typed"}, {{"LATHE_STATE", "/env"}}).state, "/typed");
  EXPECT_EQ(settings({"--state", "relative"}).state, root / "project/deep/relative");
}

TEST_F(SettingsTest, TheWorkspaceComesFromTheNearestConfigOfAParentFolder) {
  EXPECT_EQ(settings().workspace, "default");
  write("project/aml_config/config.json", R"({"workspace_name":"old"})");
  EXPECT_EQ(settings().workspace, "old");
  write("project/.azureml/config.json", R"({"workspace_name":"team"})");
  EXPECT_EQ(settings().workspace, "team");
  write("project/deep/config.json", R"({"workspace_name":"mine"})");
  EXPECT_EQ(settings().workspace, "mine");
  EXPECT_EQ(settings({"-w", "typed"}).workspace, "typed");
}

TEST_F(SettingsTest, AConfigFileOfSomebodyElseIsPassedOver) {
  write("project/.azureml/config.json", R"({"workspace_name":"team"})");
  write("project/deep/config.json", R"({"hidden_size":768})");
  EXPECT_EQ(settings().workspace, "team");
  write("project/deep/config.json", "not json");
  EXPECT_EQ(settings().workspace, "team");
}

TEST_F(SettingsTest, TheConfigNamesServerAndTokenFileUnlessSomethingElseDoes) {
  write("project/.azureml/config.json",
        R"({"workspace_name":"team","lathe":{"server":"https://gpu.example:8443","token_file":"/keys/t"}})");
  EXPECT_EQ(settings().server, "https://gpu.example:8443");
  EXPECT_EQ(settings().token_file, "/keys/t");
  EXPECT_EQ(settings({"--server", "http://other:1"}).server, "http://other:1");
  EXPECT_EQ(settings({"--state", "/s"}).server, "");
  EXPECT_EQ(settings({"--state", "/s"}).token_file, "/s/token");
}

TEST_F(SettingsTest, AServerOfThisMachineIsFoundAfterItMovedToAnotherPort) {
  write("state/token", kToken + "\n");
  write("state/server.json", R"({"url":"http://127.0.0.1:2222","socket":"","pid":1,"version":"1"})");
  write("project/.azureml/config.json",
        fmt::format(R"({{"workspace_name":"team","lathe":{{"server":"http://127.0.0.1:1111","token_file":"{}"}}}})",
                    (root / "state/token").string()));
  auto config = locate_server(settings());
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->url, "http://127.0.0.1:2222");
  EXPECT_EQ(config->token, kToken);
}

TEST_F(SettingsTest, WhetherBodiesArePackedCanBeSaid) {
  EXPECT_EQ(settings().packing, net::Packing::automatic);
  EXPECT_EQ(settings({}, {{"LATHE_COMPRESS", "auto"}}).packing, net::Packing::automatic);
  EXPECT_EQ(settings({}, {{"LATHE_COMPRESS", "always"}}).packing, net::Packing::always);
  EXPECT_EQ(settings({}, {{"LATHE_COMPRESS", "never"}}).packing, net::Packing::never);
  auto arguments = parse(std::vector<const char*>{"run", "list"}, catalogue());
  const Surroundings typo{{{"HOME", "/h"}, {"LATHE_COMPRESS", "alwyas"}}, root / "project"};
  EXPECT_THAT(make_settings(arguments.value(), typo).error().hint(), HasSubstr("always"));
}

TEST_F(SettingsTest, TheUnixSocketIsPreferredWhereItCanBeUsed) {
  write("state/token", kToken + "\n");
  write("state/api.sock", "");
  write("state/server.json", fmt::format(R"({{"url":"http://127.0.0.1:2222","socket":"{}","pid":77,"version":"1"}})",
                                         (root / "state/api.sock").string()));
  auto state = (root / "state").string();
  EXPECT_EQ(locate_server(settings({"--state", state.c_str()}))->url, "unix://" + (root / "state/api.sock").string());
  fs::remove(root / "state/api.sock");
  EXPECT_EQ(locate_server(settings({"--state", state.c_str()}))->url, "http://127.0.0.1:2222");
  EXPECT_EQ(read_server_file(state)->pid, 77);
}

TEST_F(SettingsTest, OnlyATokenIsEverSentAsOne) {
  write("state/server.json", R"({"url":"http://127.0.0.1:2222","socket":"","pid":1,"version":"1"})");
  auto state = (root / "state").string();
  for (const std::string& text : {std::string("-----BEGIN OPENSSH PRIVATE KEY-----\n"), std::string("lathe_short"),
                                  kToken + "x", kToken.substr(0, 48) + "/", "x" + kToken.substr(1), std::string()}) {
    write("state/token", text);
    auto config = locate_server(settings({"--state", state.c_str()}));
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().code(), base::Code::unauthorized);
    EXPECT_EQ(config.error().text().find("OPENSSH"), std::string::npos);
  }
  write("state/token", kToken + "\n");
  EXPECT_TRUE(locate_server(settings({"--state", state.c_str()})));
}

TEST_F(SettingsTest, ATokenIsNotSentInTheClearToAnotherMachine) {
  write("token", kToken);
  auto token = (root / "token").string();
  auto reaches = [&](const char* server) {
    return locate_server(settings({"--server", server, "--token-file", token.c_str()}));
  };
  for (const char* server :
       {"http://gpu.example:1", "http://10.0.0.7:1", "http://127.0.0.1.example:1", "http://[fe80::1]:1"}) {
    auto config = reaches(server);
    ASSERT_FALSE(config) << server;
    EXPECT_THAT(config.error().hint(), HasSubstr("https://"));
  }
  for (const char* server : {"http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "https://gpu.example:1",
                             "unix:///run/lathe.sock"})
    EXPECT_TRUE(reaches(server)) << server;
}

TEST_F(SettingsTest, AConfigThatAnotherUserOwnsIsIgnored) {
  write("project/.azureml/config.json", R"({"workspace_name":"team"})");
  write("project/deep/config.json", R"({"workspace_name":"planted"})");
  if (::chown((root / "project/deep/config.json").c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "giving a file away needs root";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(settings().workspace, "team");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("belongs to another user"));
}

TEST_F(SettingsTest, WithoutAServerTheErrorSaysHowToStartOne) {
  auto config = locate_server(settings());
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code(), base::Code::unavailable);
  EXPECT_THAT(config.error().hint(), HasSubstr("lathe up"));
}

TEST_F(SettingsTest, TheConfigThatIsWrittenIsTheConfigThatIsRead) {
  WorkspaceConfig config{.file = root / "project/.azureml/config.json",
                         .workspace = "w",
                         .subscription_id = "s",
                         .resource_group = "g",
                         .server = "http://127.0.0.1:1",
                         .token_file = "/t"};
  write("project/.azureml/config.json", workspace_config_text(config));
  auto found = find_workspace_config(root / "project/deep/deeper");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->file, config.file);
  EXPECT_EQ(found->workspace + found->subscription_id + found->resource_group + found->server, "wsghttp://127.0.0.1:1");
  EXPECT_EQ(found->token_file, "/t");
}

TEST(RunId, HasTheFormOfTheSdk) {
  EXPECT_EQ(make_run_id("tf-distr-hvd", 1550603179, "\x10\x90\x29\xbb"), "tf-distr-hvd_1550603179_109029bb");
  EXPECT_NE(make_run_id("e"), make_run_id("e"));
}

TEST(Files, ATooLargeFileIsRefused) {
  auto file = fs::temp_directory_path() / fmt::format("lathe-large-{}", ::getpid());
  ASSERT_TRUE(replace_file(file, std::string(100, 'x')));
  EXPECT_EQ(read_small_file(file, 99).error().code(), base::Code::too_large);
  EXPECT_EQ(read_small_file(file, 100)->size(), 100u);
  fs::remove(file);
}

}  // namespace
}  // namespace lathe::cli
