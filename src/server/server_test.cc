#include <sys/stat.h>

#include <fstream>

#include "server/http_tools.h"
#include "server/metrics.h"
#include "server/site_config.h"
#include "server/state_dir.h"
#include "server/test_support.h"

namespace lathe::server {
namespace {

using base::Code;

TEST(StateDir, RefusesASecondServerAndNamesTheHolder) {
  TempFolder folder;
  auto first = StateDir::open(folder.path());
  ASSERT_TRUE(first);
  auto second = StateDir::open(folder.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::conflict);
  EXPECT_NE(second.error().message().find(std::to_string(::getpid())), std::string::npos) << second.error().message();
  EXPECT_FALSE(second.error().hint().empty());
}

TEST(StateDir, IsFreeAgainWhenItsServerIsGone) {
  TempFolder folder;
  {
    ASSERT_TRUE(StateDir::open(folder.path()));
  }
  EXPECT_TRUE(StateDir::open(folder.path()));
}

TEST(StateDir, LeavesTheModeOfAFolderThatItDidNotMake) {
  TempFolder folder;
  ::chmod(folder.path().c_str(), 0755);
  auto state = StateDir::open(folder.path());
  ASSERT_FALSE(state) << "others could look into it";
  EXPECT_NE(state.error().hint().find("chmod 700"), std::string::npos);
  struct stat status{};
  ASSERT_EQ(::stat(folder.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0755u);
  EXPECT_TRUE(StateDir::open(folder.path() / "new"));
}

TEST(StateDir, MakesOnePrivateTokenAndKeepsIt) {
  TempFolder folder;
  auto state = base::value_or_throw(StateDir::open(folder.path()));
  auto token = base::value_or_throw(state.admin_token());
  EXPECT_EQ(token.size(), 6u + 43u);
  EXPECT_EQ(base::value_or_throw(state.admin_token()), token);
  struct stat status{};
  ASSERT_EQ(::stat((folder / "token").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(StateDir, RefusesATokenFileThatOthersCanRead) {
  TempFolder folder;
  auto state = base::value_or_throw(StateDir::open(folder.path()));
  base::value_or_throw(state.admin_token());
  ::chmod((folder / "token").c_str(), 0644);
  auto token = state.admin_token();
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().hint().find("chmod 600"), std::string::npos);
}

TEST(StateFolder, ATokenWhoseFileWasChangedByAccidentIsNotAnotherToken) {
  TempFolder folder;
  auto state = base::value_or_throw(StateDir::open(folder.path()));
  const auto token = base::value_or_throw(state.admin_token());
  auto read_changed = [&](std::string text) {
    std::ofstream(folder / "token") << text;
    return state.admin_token();
  };
  for (std::size_t at = 0; at < token.size() + 2; ++at) {
    for (const int bits : {1, 2, 0x20, 0x4c, 0xff}) {
      std::string text = token + "\n\n";
      text[at] = static_cast<char>(text[at] ^ bits);
      const auto read = read_changed(text);
      if (read) EXPECT_EQ(*read, token) << at << " ^ " << bits;
      else EXPECT_EQ(read.error().code(), base::Code::corrupt) << read.error().text();
    }
  }
  const std::string of_first_release = make_token();
  EXPECT_EQ(base::value_or_throw(read_changed(of_first_release + "\n")), of_first_release);
  EXPECT_TRUE(read_changed("chosen-by-the-owner-0123456789abcdef0123\n").has_value());
}

TEST(Token, HasTheFormThatScannersKnowAndIsNeverTheSame) {
  auto one = make_token(), other = make_token();
  EXPECT_TRUE(one.starts_with("lathe_"));
  EXPECT_NE(one, other);
  EXPECT_EQ(one.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
}

TEST(SiteConfig, IsTheDefaultWithoutAFile) {
  auto config = load_site_config("/nonexistent/config.yaml");
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->box == BoxRule::automatic && config->run_as == "slot");
  EXPECT_EQ(config->rules.gpu, model::GpuRule::optional);
  EXPECT_EQ(config->rules.size, model::SizeRule::fit);
}

TEST(SiteConfig, OneThatCannotBeReadIsAnError) {
  TempFolder folder;
  std::filesystem::create_directory(folder / "config.yaml");
  EXPECT_FALSE(load_site_config(folder / "config.yaml"));
}

TEST(SiteConfig, ReadsEveryKey) {
  auto config = parse_site_config(R"(
providers:
  local:
    gpu: required
    size: exact
    launcher: [nice, -n, "5"]
    work_dir: /var/lathe
    enforce_memory: false
    stop_margin_seconds: 0.5
    delivery_patience_seconds: 60
    box: "off"
    run_as: user alice
    processes: 100
    pass_variables: [HF_*]
    box_shows: [/srv/shared]
    machine: {cores: 4, memory_gb: 8, gpus: [a, b]}
disk_budget_gb: 2
store: {lease_hours: 1}
logs: {segment_mb: 1}
environments:
  interpreter: /usr/bin/python3
  cache: /var/cache/lathe
  uv: /opt/uv
  index: https://index.example/simple
  extra_indexes: [http://other.example/simple]
  wheelhouse: /srv/wheels
  engine: none
  channels: [file:///srv/channel]
  pythons: [/opt/python]
  offline: true
  python_downloads: false
  engine_arguments: false
  strict: true
  era: off
  keep_days: 2
  limit_gb: 3
secrets: {key_folder: /etc/lathe/keys}
mounts: {cache_gb: 0.5, cache_folder: /scratch/chunks, read_timeout_seconds: 5}
)");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_TRUE(config->box == BoxRule::off && config->run_as == "user alice" && config->most_processes == 100);
  EXPECT_EQ(config->pass_variables, std::vector<std::string>{"HF_*"});
  EXPECT_EQ(config->box_shows, std::vector<std::string>{"/srv/shared"});
  EXPECT_EQ(config->rules.gpu, model::GpuRule::required);
  EXPECT_EQ(config->rules.size, model::SizeRule::exact);
  EXPECT_EQ(config->launcher, (std::vector<std::string>{"nice", "-n", "5"}));
  EXPECT_EQ(config->work, "/var/lathe");
  EXPECT_FALSE(config->enforce_memory);
  EXPECT_EQ(config->stop_margin, std::chrono::milliseconds(500));
  EXPECT_EQ(config->delivery_patience, std::chrono::minutes(1));
  EXPECT_EQ(config->machine->millicores, 4000);
  EXPECT_EQ(config->machine->gpus.size(), 2u);
  EXPECT_EQ(config->disk_budget_bytes, 2ull << 30);
  EXPECT_EQ(config->blob_lease, std::chrono::hours(1));
  EXPECT_EQ(config->log_segment_bytes, 1u << 20);
  const auto& environments = config->environments;
  EXPECT_EQ(environments.interpreter, "/usr/bin/python3");
  EXPECT_EQ(environments.cache, "/var/cache/lathe");
  EXPECT_EQ(environments.uv, "/opt/uv");
  EXPECT_EQ(environments.index, "https://index.example/simple");
  EXPECT_EQ(environments.extra_indexes, (std::vector<std::string>{"http://other.example/simple"}));
  EXPECT_EQ(environments.wheelhouse, "/srv/wheels");
  EXPECT_EQ(environments.engine, "none");
  EXPECT_EQ(environments.pythons.size(), 1u);
  EXPECT_TRUE(environments.offline && environments.strict);
  EXPECT_FALSE(environments.python_downloads || environments.era || environments.engine_arguments);
  EXPECT_EQ(environments.keep, std::chrono::hours(48));
  EXPECT_EQ(environments.limit_bytes, 3ull << 30);
  EXPECT_EQ(config->key_folder, "/etc/lathe/keys");
  EXPECT_EQ(config->mount_cache_bytes, 512u << 20);
  EXPECT_EQ(config->mount_read_timeout, std::chrono::seconds(5));
  EXPECT_EQ(config->mount_cache_folder, "/scratch/chunks");
}

TEST(SiteConfig, RefusesWhatItDoesNotKnowByName) {
  for (auto [text, field] : {std::pair{"provider: {}", "provider"},
                             {"providers: {local: {gpus: optional}}", "providers.local.gpus"},
                             {"providers: {local: {gpu: maybe}}", "providers.local.gpu"},
                             {"providers: {local: {work_dir: relative}}", "providers.local.work_dir"},
                             {"providers: {local: {box: maybe}}", "providers.local.box"},
                             {"providers: {local: {run_as: 'user a b'}}", "providers.local.run_as"},
                             {"providers: {local: {box_shows: [here]}}", "providers.local.box_shows"},
                             {"disk_budget_gb: -1", "disk_budget_gb"},
                             {"store: {lease_hours: 0.5}", "store.lease_hours"},
                             {"disk_budget_gb: .nan", "disk_budget_gb"},
                             {"mounts: {cache_gb: -1}", "mounts.cache_gb"},
                             {"mounts: {read_timeout_seconds: 0}", "mounts.read_timeout_seconds"},
                             {"mounts: {cache_folder: here}", "mounts.cache_folder"},
                             {"logs: {segment_mb: [1]}", "logs.segment_mb"},
                             {"environments: {index: pypi}", "environments.index"},
                             {"environments: {index: 'https://me:x@pypi'}", "environments.index"},
                             {"environments: {era: maybe}", "environments.era"},
                             {"environments: {substitutions: /no/such/file}", "environments.substitutions"},
                             {"providers: {local: {machine: {cores: 2}}}", "providers.local.machine"}}) {
    auto config = parse_site_config(text);
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().code(), Code::invalid) << text;
    EXPECT_EQ(config.error().field(), field) << text;
  }
  EXPECT_FALSE(parse_site_config("a: [unclosed"));
  EXPECT_FALSE(parse_site_config("- just\n- a list"));
}

net::Request with_range(const std::string& value) {
  net::Request request;
  request.headers["range"] = value;
  return request;
}

TEST(Range, GivesThePartThatWasAskedFor) {
  auto range = [](const std::string& value) {
    auto got = requested_range(with_range(value), 100);
    return std::tuple(got.offset, got.length, got.partial);
  };
  EXPECT_EQ(range("bytes=0-9"), std::tuple(0u, 10u, true));
  EXPECT_EQ(range("bytes=90-"), std::tuple(90u, 10u, true));
  EXPECT_EQ(range("bytes=-5"), std::tuple(95u, 5u, true));
  EXPECT_EQ(range("bytes=50-1000"), std::tuple(50u, 50u, true));
  EXPECT_EQ(range("lines=1-2"), std::tuple(0u, 100u, false)) << "an unknown unit is no range";
  EXPECT_THROW(requested_range(with_range("bytes=101-"), 100), base::Error);
  EXPECT_EQ(range("bytes=9-3"), std::tuple(0u, 100u, false)) << "one that ends before it starts is none";
}

TEST(Metrics, CountsRequestsAndSortsLatenciesIntoBuckets) {
  Metrics metrics;
  metrics.count_request("getRun", 200, std::chrono::microseconds(900));
  metrics.count_request("getRun", 404, std::chrono::milliseconds(3));
  metrics.count_request("", 404, std::chrono::milliseconds(3));
  auto text = metrics.render();
  EXPECT_NE(text.find(R"(lathe_requests_total{operation="getRun",status="200"} 1)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(lathe_request_seconds_bucket{operation="getRun",le="0.001"} 1)"), std::string::npos);
  EXPECT_NE(text.find(R"(lathe_request_seconds_bucket{operation="getRun",le="0.004"} 2)"), std::string::npos);
  EXPECT_NE(text.find(R"(lathe_requests_total{operation="none",status="404"} 1)"), std::string::npos);
}

}  // namespace
}  // namespace lathe::server
