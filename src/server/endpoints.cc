#include "server/endpoints.h"

namespace lathe::server {

void add_all_routes(net::Router& router, Services& services) {
  add_workspace_routes(router, services);
  add_compute_routes(router, services);
  add_datastore_routes(router, services);
  add_dataset_routes(router, services);
  add_model_routes(router, services);
  add_environment_routes(router, services);
  add_build_routes(router, services);
  add_lock_routes(router, services);
  add_run_routes(router, services);
  add_client_run_routes(router, services);
  add_run_file_routes(router, services);
  add_metric_routes(router, services);
  add_secret_routes(router, services);
  add_event_routes(router, services);
  add_token_routes(router, services);
  add_blob_routes(router, services);
  add_staging_routes(router, services);
  add_store_routes(router, services);
  add_runner_routes(router, services);
  add_sdk_routes(router, services);
}

}  // namespace lathe::server
