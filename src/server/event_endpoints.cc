// Events: the history of a run, and the live stream of a workspace (server-sent events with resumable ids).
#include "base/strings.h"
#include "db/cursor.h"
#include "db/events.h"
#include "db/page.h"
#include "db/workspaces.h"
#include "server/endpoints.h"
#include "server/event_text.h"
#include "server/http_tools.h"
#include "server/run_changes.h"

namespace lathe::server {

using base::Code;
using base::Error;
using db::events::Event;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

std::int64_t resume_point(const Request& request) {
  if (auto header = request.header("last-event-id")) {
    auto id = base::parse_u64(*header);
    if (!id || *id > INT64_MAX) throw Error(Code::invalid, "Last-Event-ID is not an id of ours").field("last-event-id");
    return static_cast<std::int64_t>(*id);
  }
  return query_integer(request, "after", -1);
}

Task<Response> get_stream(Services& services, Request& request) {
  allow_query(request, {"after", "run"});
  auto workspace = request.params.at("workspace");
  auto after = resume_point(request);
  auto last = co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    return db::events::last_id(connection);
  });
  // An id from the future was given by a server that has since been restored from a backup: that client starts anew,
  // and does not wait in silence until the ids have caught up.
  if (after < 0 || after > last) after = last;
  Response response;
  response.headers["content-type"] = "text/event-stream";
  EventFeed::Filter filter{workspace, request.query_value("run").value_or("")};
  response.body =
      net::StreamBody([&services, filter, after, last, cancel = request.cancel](net::BodyWriter& out) -> Task<void> {
        co_await services.core.events.stream(filter, after, last, cancel, out);
      });
  co_return response;
}

Task<Response> list_run_events(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  const auto limit = page_limit(request);
  const auto cursor = page_cursor(request);
  const auto scope = "events of " + request.params.at("run");
  const auto after = cursor.empty() ? 0 : db::read_number_cursor(scope, cursor);
  auto page = co_await services.core.database.read([&](db::Connection& connection) {
    auto run = get_run(connection, request.params.at("workspace"), request.params.at("run"));
    auto found = db::events::list_after(connection, run.sequence, after, limit + 1);
    return db::make_page(std::move(found), limit, [&](const Event& last) { return db::make_cursor(scope, last.id); });
  });
  json::array items;
  for (const auto& event : page.items) items.push_back(event_json(event));
  co_return list_response(std::move(items), page.next);
}

}  // namespace

void add_event_routes(net::Router& router, Services& services) {
  router.add({"GET", "/api/v1/workspaces/{workspace}/runs/{run}/events", "listRunEvents", Permission::read,
              endpoint(services, list_run_events)});
  router.add({"GET", "/api/v1/workspaces/{workspace}/events", "streamEvents", Permission::read,
              endpoint(services, get_stream)});
}

}  // namespace lathe::server
