// Events: the history of a run, and the live stream of a workspace (server-sent events with resumable ids).
#include "base/strings.h"
#include "db/events.h"
#include "db/workspaces.h"
#include "server/endpoints.h"
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

constexpr int kEventsPerRead = 200;

json::object event_json(const Event& event) {
  auto name = [](const std::optional<model::RunState>& state) -> json::value {
    if (!state) return nullptr;
    return json::string(model::state_name(*state));
  };
  json::object out{{"id", event.id},       {"kind", event.kind},     {"from", name(event.from)},
                   {"to", name(event.to)}, {"reason", event.reason}, {"at", base::format_utc(event.at)}};
  if (event.kind == db::events::kBuildKind)
    out["build"] = static_cast<std::int64_t>(base::parse_u64(event.run_id.value).value_or(0));
  else
    out["run_id"] = event.run_id.value;
  return out;
}

std::int64_t resume_point(const Request& request) {
  if (auto header = request.header("last-event-id")) {
    auto id = base::parse_u64(*header);
    if (!id || *id > INT64_MAX) throw Error(Code::invalid, "Last-Event-ID is not an id of ours").field("last-event-id");
    return static_cast<std::int64_t>(*id);
  }
  return query_integer(request, "after", -1);
}

Task<void> stream_events(Services& services, std::string workspace, std::string run_id, std::int64_t after,
                         rt::CancelToken cancel, net::BodyWriter& out) {
  auto& core = services.core;
  co_await out.write(": lathe events\n\n");
  for (;;) {
    auto seen = core.events.version();
    auto events = co_await core.database.read([&](db::Connection& connection) {
      return db::events::list_after(connection, workspace, after, kEventsPerRead);
    });
    std::string text;
    for (const auto& event : events) {
      after = event.id;
      if (!run_id.empty() && (event.run_id.value != run_id || event.kind == db::events::kBuildKind)) continue;
      text += fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.id, event.kind, json::serialize(event_json(event)));
    }
    if (!text.empty()) co_await out.write(text);
    if (events.size() < kEventsPerRead) co_await core.events.changed(seen, cancel);
  }
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
  response.body = net::StreamBody([&services, workspace, run = request.query_value("run").value_or(""), after,
                                   cancel = request.cancel](net::BodyWriter& out) -> Task<void> {
    co_await stream_events(services, workspace, run, after, cancel, out);
  });
  co_return response;
}

Task<Response> list_run_events(Services& services, Request& request) {
  allow_query(request, {"limit", "cursor"});
  auto events = co_await services.core.database.read([&](db::Connection& connection) {
    auto run = get_run(connection, request.params.at("workspace"), request.params.at("run"));
    return db::events::list(connection, run.sequence);
  });
  json::array items;
  for (const auto& event : events) items.push_back(event_json(event));
  co_return page_of(request, "events of " + request.params.at("run"), std::move(items));
}

}  // namespace

void add_event_routes(net::Router& router, Services& services) {
  router.add({"GET", "/api/v1/workspaces/{workspace}/runs/{run}/events", "listRunEvents", Permission::read,
              endpoint(services, list_run_events)});
  router.add({"GET", "/api/v1/workspaces/{workspace}/events", "streamEvents", Permission::read,
              endpoint(services, get_stream)});
}

}  // namespace lathe::server
