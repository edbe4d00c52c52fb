#include "server/server.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "base/log.h"
#include "compute/local_provider.h"
#include "db/computes.h"
#include "server/denied_calls.h"
#include "server/endpoints.h"
#include "server/environment_builds.h"
#include "server/retention.h"
#include "server/run_boxes.h"
#include "server/state_dir.h"
#include "server/sweep.h"
#include "sys/gpu.h"
#include "sys/machine.h"

namespace lathe::server {
namespace {

using base::Code;
using base::Error;
using rt::Task;
namespace fs = std::filesystem;

constexpr base::Duration kDrain = std::chrono::seconds(5);
constexpr std::size_t kFileQueue = 4096;

model::Machine this_machine() {
  auto info = sys::read_machine();
  model::Machine machine{info.millicores, info.memory_bytes, {}};
  if (sys::machine_may_have_gpu())
    for (const auto& device : sys::open_gpu_inventory()->devices()) machine.gpus.push_back(device.uuid);
  return machine;
}

compute::LocalConfig local_config(const ServerOptions& options, const StateDir& state, const SiteConfig& site) {
  compute::LocalConfig config;
  config.program = options.program;
  // A shared work_dir is divided by state folder: a restored copy of this server must not touch what is not its own.
  config.work = site.work.empty() ? state.work() : site.work / base::sha256(state.root().string()).hex().substr(0, 16);
  config.launcher = site.launcher;
  config.descriptors = options.run_descriptors;
  config.machine = site.machine ? *site.machine : this_machine();
  if (site.why_no_box.empty())
    config.variables.push_back(
        fmt::format("{}={}", wire::kBoxVariable, wire::encode_box_rules(make_box_rules(site, state))));
  return config;
}

net::HttpLimits http_limits(const SiteLimits& site) {
  net::HttpLimits limits;
  limits.requests_per_second = site.requests_per_second;
  limits.burst = site.burst > 0 ? site.burst : site.requests_per_second;
  limits.floor_bytes_per_second = site.floor_bytes_per_second;
  limits.memory.total = site.request_memory_bytes;
  limits.memory.per_caller = site.request_memory_bytes / 4;
  return limits;
}

// Everything that lives as long as the server, in the order in which it depends on one another.
class Server {
 public:
  Server(const ServerOptions& options, StateDir& state, SiteConfig site, rt::Loop& home, db::Database& database,
         cas::DiskStore& store)
      : options_(options),
        state_(state),
        site_(std::move(site)),
        home_(home),
        database_(database),
        provider_(local_config(options, state, site_), home, files_),
        events_(home, database, scope_, site_.limits.heartbeat),
        reserve_(state, home, files_, scope_),
        store_work_(home, files_, store),
        views_(base::value_or_throw(cas::Views::open(state.views(), store))),
        core_{home,   files_,    scope_, rt::system_clock(), database, store,  store_work_,
              views_, provider_, site_,  metrics_,           reserve_, events_},
        authority_(core_),
        attempts_(home),
        logs_(state.live(), home, files_, store, database),
        dispatcher_(core_, authority_, attempts_, logs_, "unix://" + state.socket().string()),
        environments_(core_),
        builds_(core_, environments_, state.builds()),
        desk_(core_, attempts_, logs_, dispatcher_, environments_),
        uploads_(store),
        staging_(store),
        trees_(core_),
        rights_(core_),
        budget_(core_),
        journals_(core_),
        urls_(core_, budget_),
        preparation_(core_, urls_, builds_, dispatcher_),
        rotation_(core_),
        services_{core_,
                  authority_,
                  dispatcher_,
                  logs_,
                  desk_,
                  uploads_,
                  staging_,
                  trees_,
                  rights_,
                  budget_,
                  journals_,
                  urls_,
                  environments_,
                  builds_,
                  preparation_,
                  rotation_,
                  core_.clock.utc(),
                  [this] { return render_metrics(); }},
        http_(
            home, router_, [this](const net::Request& request) { return authority_.authenticate(request); },
            [this](const net::RequestOutcome& outcome) {
              metrics_.count_request(outcome.operation, outcome.status, outcome.took);
            },
            http_limits(site_.limits)) {
    add_all_routes(router_, services_);
    http_.on_refused([this](const net::Refusal& refusal) { denied_.note(refusal); });
    authority_.on_over([this](std::int64_t token_id) {
      http_.end_requests_of([token_id](const net::Principal& who) { return who.token_id == token_id; });
    });
  }

  // Returns when the server was asked to stop; stop() must follow, also after a failure.
  Task<void> run(bool reserve_is_full) {
    co_await open(reserve_is_full);
    for (;;) {
      int signal = co_await home_.signal();
      if (signal != SIGHUP) {
        base::log::info("stopping", {{"signal", signal}});
        co_return;
      }
      base::log::reopen();
      base::log::info("the log was opened anew", {{"signal", signal}});
    }
  }

  // In the reverse order of run(), however far that came.
  Task<void> stop() {
    state_.forget_address();
    store_work_.stop();  // before the drain: who waits for it would use that up
    builds_.stop();
    co_await http_.stop(kDrain);
    scope_.stop();
    co_await scope_.join();
    home_.stop();
  }

  void stop_files() {
    builds_.join();
    store_work_.join();
    files_.stop();
  }
  const net::Router& router() const { return router_; }

 private:
  Task<void> open(bool reserve_is_full) {
    reserve_.start(reserve_is_full);
    database_.on_fatal([this](const Error& error) { die("the database cannot be written; the server ends", error); });
    core_.store.on_disk_failure([this](const Error& error) {
      die("the disk refused to keep what was written to the store; the server ends", error);
    });
    co_await authority_.register_admin(base::value_or_throw(state_.admin_token()));
    co_await make_default_workspace();
    co_await dispatcher_.recover();
    dispatcher_.start();
    co_await builds_.recover();
    co_await preparation_.recover();
    scope_.spawn("sweep", sweep_leftovers(core_, logs_));
    scope_.spawn("retention", keep_trimmed(core_));
    co_await open_doors();
  }

  Task<void> make_default_workspace() {
    db::workspaces::Workspace workspace{"default", "00000000-0000-0000-0000-000000000000", "lathe", core_.clock.utc()};
    co_await database_.write([&](db::Connection& connection) {
      if (!db::workspaces::insert_if_absent(connection, workspace)) return;
      db::computes::insert_or_update(connection, local_target(workspace.name, workspace.created));
      audit(connection, {"server", 0, "start"}, workspace.created, "workspace.create", workspace.name);
    });
  }

  Task<void> open_doors() {
    auto listen = options_.listen;
    listen.unix_socket = state_.socket();
    // For runs, which may have another user. Nobody else gets that far: the state folder is closed.
    listen.unix_socket_mode = 0666;
    base::value_or_throw(http_.listen(listen));
    std::string url = fmt::format("{}://{}:{}", listen.tls ? "https" : "http", listen.host, http_.port());
    co_await reserve_.spend([&]() -> Task<void> {
      base::value_or_throw(state_.publish_address({url, state_.socket()}));
      co_return;
    });
    base::log::info("listening", {{"url", url}, {"socket", state_.socket().string()}, {"version", LATHE_VERSION}});
    if (options_.ready_fd >= 0) {
      std::string line = url + "\n";
      if (::write(options_.ready_fd, line.data(), line.size()) < 0) base::log::warn("nobody waits for readiness", {});
      ::close(options_.ready_fd);
    }
  }

  std::string render_metrics() {
    const auto& commits = database_.stats();
    metrics_.set("lathe_runs_queued", static_cast<double>(dispatcher_.queued()));
    metrics_.set("lathe_attempts_live", static_cast<double>(dispatcher_.live_attempts()));
    metrics_.set("lathe_event_streams", static_cast<double>(events_.streams()));
    metrics_.set("lathe_db_commits", static_cast<double>(commits.commits));
    metrics_.set("lathe_db_operations", static_cast<double>(commits.operations));
    metrics_.set("lathe_db_largest_batch", static_cast<double>(commits.largest_batch));
    return metrics_.render();
  }

  // The disk lies or is gone: nothing more may be acknowledged. The next start recovers what was.
  [[noreturn]] void die(std::string_view what, const Error& error) {
    base::log::error(what, {{"why", error.text()}, {"hint", "check the disk, then start the server again"}});
    std::fflush(nullptr);
    ::_exit(base::exit_status(Code::io));
  }

  const ServerOptions& options_;
  StateDir& state_;
  SiteConfig site_;
  rt::Loop& home_;
  db::Database& database_;
  rt::BlockingPool files_{"files", 2, kFileQueue};
  rt::Scope scope_;
  compute::LocalProvider provider_;
  Metrics metrics_;
  EventFeed events_;
  Reserve reserve_;
  StoreWork store_work_;
  cas::Views views_;
  Core core_;
  Authority authority_;
  LiveAttempts attempts_;
  LiveLogs logs_;
  Dispatcher dispatcher_;
  EnvironmentSite environments_;
  EnvironmentBuilds builds_;
  RunnerDesk desk_;
  cas::PartialUploads uploads_;
  cas::StagingArea staging_;
  TreeChecks trees_;
  BlobRights rights_;
  DiskBudget budget_;
  MetricJournals journals_;
  UrlSources urls_;
  RunPreparation preparation_;
  SecretRotation rotation_;
  DeniedCalls denied_{core_};
  Services services_;
  net::Router router_;
  net::HttpServer http_;
};

Task<void> supervise(Server& server, bool reserve_is_full, std::exception_ptr& failure) {
  try {
    co_await server.run(reserve_is_full);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await server.stop();
}

// A full disk must not keep the server from starting: it could not even delete anything then.
std::unique_ptr<db::Database> open_database(const StateDir& state, rt::Loop& home, bool& reserve_is_full) {
  auto database = db::Database::open(state.database(), home);
  if (!database && database.error().code() == Code::no_space && reserve_is_full) {
    state.release_reserve();
    reserve_is_full = false;
    database = db::Database::open(state.database(), home);
  }
  return base::value_or_throw(std::move(database));
}

void serve(const ServerOptions& options) {
  auto state = base::value_or_throw(StateDir::open(options.state));
  auto site = base::value_or_throw(load_site_config(state.config()));
  site.why_no_box = look_for_boxes(site);
  auto reserved = state.ensure_reserve();
  if (!reserved) base::log::warn("no space could be set aside", {{"why", reserved.error().text()}});
  bool reserve_is_full = reserved.has_value();
  rt::Loop home;
  auto database = open_database(state, home, reserve_is_full);
  auto store = base::value_or_throw(cas::DiskStore::open(state.store()));
  Server server(options, state, std::move(site), home, *database, *store);
  std::exception_ptr failure;
  rt::Scope outer;
  outer.spawn("server", supervise(server, reserve_is_full, failure));
  home.run();
  server.stop_files();
  database->stop();
  if (failure) std::rethrow_exception(failure);
}

// Builds a server on an empty folder only to ask it for its routes.
int print_routes(const ServerOptions& options) {
  std::string folder = fs::temp_directory_path() / "lathe-routes.XXXXXX";
  if (!::mkdtemp(folder.data())) throw base::errno_error(errno, "make a temporary folder");
  {
    auto state = base::value_or_throw(StateDir::open(folder));
    rt::Loop home;
    auto database = base::value_or_throw(db::Database::open(state.database(), home));
    auto store = base::value_or_throw(cas::DiskStore::open(state.store()));
    Server server(options, state, {}, home, *database, *store);
    for (const auto& route : server.router().routes())
      fmt::print("{} {} {} {}\n", route.method, route.path, route.operation, net::permission_name(route.permission));
  }
  fs::remove_all(folder);
  return 0;
}

}  // namespace

int run_server(const ServerOptions& options) {
  try {
    if (options.print_routes) return print_routes(options);
    serve(options);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "lathe server: {}\n", error.text());
    if (!error.hint().empty()) fmt::print(stderr, "hint: {}\n", error.hint());
    return base::exit_status(error.code());
  }
}

}  // namespace lathe::server
