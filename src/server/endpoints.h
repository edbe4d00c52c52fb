// The routes of the API, one file per resource. Each add_* registers its routes; together they are api/openapi.yaml.
#pragma once

#include <functional>
#include <string>

#include "cas/partial_uploads.h"
#include "cas/staging_area.h"
#include "net/router.h"
#include "server/authority.h"
#include "server/blob_rights.h"
#include "server/core.h"
#include "server/disk_budget.h"
#include "server/dispatcher.h"
#include "server/live_logs.h"
#include "server/metric_journals.h"
#include "server/run_preparation.h"
#include "server/runner_desk.h"
#include "server/secret_rotation.h"
#include "server/trees.h"
#include "server/url_sources.h"

namespace lathe::server {

class EnvironmentBuilds;
class EnvironmentSite;

// Everything an endpoint may call.
struct Services {
  Core& core;
  Authority& authority;
  Dispatcher& dispatcher;
  LiveLogs& logs;
  RunnerDesk& desk;
  cas::PartialUploads& uploads;
  cas::StagingArea& staging;
  TreeChecks& trees;
  BlobRights& rights;
  DiskBudget& budget;
  MetricJournals& journals;
  UrlSources& urls;
  EnvironmentSite& environments;
  EnvironmentBuilds& builds;
  RunPreparation& preparation;
  SecretRotation& rotation;
  base::UtcTime started;
  std::function<std::string()> render_metrics;
};

// A handler made of a plain function over the services.
inline net::Handler endpoint(Services& services, rt::Task<net::Response> (*function)(Services&, net::Request&)) {
  return [&services, function](net::Request& request) { return function(services, request); };
}

// The target "local" that every workspace has: one node, the whole machine.
model::ComputeTarget local_target(const std::string& workspace, base::UtcTime created);

void add_workspace_routes(net::Router& router, Services& services);
void add_compute_routes(net::Router& router, Services& services);
void add_datastore_routes(net::Router& router, Services& services);
void add_datastore_file_routes(net::Router& router, Services& services);
void add_dataset_routes(net::Router& router, Services& services);
void add_dataset_file_routes(net::Router& router, Services& services);
void add_model_routes(net::Router& router, Services& services);
void add_environment_routes(net::Router& router, Services& services);
void add_build_routes(net::Router& router, Services& services);
void add_lock_routes(net::Router& router, Services& services);
void add_run_routes(net::Router& router, Services& services);
void add_client_run_routes(net::Router& router, Services& services);
void add_run_file_routes(net::Router& router, Services& services);
void add_metric_routes(net::Router& router, Services& services);
void add_secret_routes(net::Router& router, Services& services);
void add_event_routes(net::Router& router, Services& services);
void add_token_routes(net::Router& router, Services& services);
void add_blob_routes(net::Router& router, Services& services);
void add_staging_routes(net::Router& router, Services& services);
void add_store_routes(net::Router& router, Services& services);
void add_runner_routes(net::Router& router, Services& services);
void add_sdk_routes(net::Router& router, Services& services);

// For both routes that take metric journals.
inline constexpr std::uint64_t kMaxJournalPiece = 16u << 20;
rt::Task<JournalPiece> read_journal_piece(net::Request& request);
net::Response stand_response(const MetricJournals::Stand& stand);

void add_all_routes(net::Router& router, Services& services);

}  // namespace lathe::server
