// The content store: what it holds, checking it, and removing what nothing names.
#include "cas/verify.h"
#include "server/endpoints.h"
#include "server/garbage.h"
#include "server/http_tools.h"
#include "wire/json.h"

namespace lathe::server {

using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

Task<Response> get_store(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  auto stats = co_await core.store_work.run([&] { return base::value_or_throw(core.store.stats()); });
  co_return json_response({{"blobs", stats.blobs},
                           {"bytes", stats.bytes},
                           {"partial_uploads", stats.partial_uploads},
                           {"partial_bytes", stats.partial_bytes},
                           {"damaged", stats.damaged}});
}

Task<Response> collect(Services& services, Request& request) {
  auto body = co_await json_body(request, true);
  bool dry_run = false;
  wire::Fields fields(body);
  fields.boolean("dry_run", dry_run);
  base::value_or_throw(fields.finish());
  auto report = co_await collect_store_garbage(services.core, caller_of(request),
                                               {services.core.site.blob_lease, dry_run}, request.cancel);
  json::array missing;
  for (const auto& digest : report.missing) missing.push_back(json::string(digest.hex()));
  co_return json_response({{"dry_run", dry_run},
                           {"blobs", report.blobs},
                           {"bytes", report.bytes},
                           {"reachable_blobs", report.reachable_blobs},
                           {"reachable_bytes", report.reachable_bytes},
                           {"leased_blobs", report.leased_blobs},
                           {"leased_bytes", report.leased_bytes},
                           {"removed_blobs", report.removed_blobs},
                           {"removed_bytes", report.removed_bytes},
                           {"removed_partials", report.removed_partials},
                           {"missing", std::move(missing)}});
}

Task<Response> verify(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  auto report = co_await core.store_work.run_alone("a check of the store", request.cancel, [&](const auto& go_on) {
    return base::value_or_throw(cas::verify_store(core.store, go_on));
  });
  json::array damaged;
  for (const auto& digest : report.damaged) damaged.push_back(json::string(digest.hex()));
  co_return json_response({{"checked", report.checked}, {"bytes", report.bytes}, {"damaged", std::move(damaged)}});
}

}  // namespace

void add_store_routes(net::Router& router, Services& services) {
  router.add({"GET", "/api/v1/store", "getStore", Permission::read, endpoint(services, get_store)});
  router.add({"POST", "/api/v1/store/gc", "collectGarbage", Permission::operate, endpoint(services, collect)});
  router.add({"POST", "/api/v1/store/verify", "verifyStore", Permission::operate, endpoint(services, verify)});
}

}  // namespace lathe::server
