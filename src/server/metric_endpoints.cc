// The metrics of a run, for clients; runners have a route of their own (runner_endpoints.cc).
#include "db/runs.h"
#include "model/names.h"
#include "server/http_tools.h"
#include "server/metric_reader.h"
#include "server/run_changes.h"
#include "server/run_edits.h"
#include "wire/metric.h"

namespace lathe::server {

using base::Code;
using base::Error;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;

namespace {

constexpr int kDefaultRecords = 10'000, kMostRecords = 100'000;
constexpr std::string_view kLines = "application/x-ndjson";

int record_limit(const Request& request) {
  auto limit = query_integer(request, "limit", kDefaultRecords);
  base::value_or_throw(model::check_range("limit", limit, 1, kMostRecords));
  return static_cast<int>(limit);
}

Task<MetricSelection> select(Services& services, Request& request) {
  MetricSelection selection;
  if (request.query_value("name")) selection.name = require_query(request, "name");
  if (selection.name && selection.name->size() > wire::kMaxMetricName)
    throw Error(Code::invalid, fmt::format("a metric's name has at most {} bytes", wire::kMaxMetricName)).field("name");
  selection.name_runs = query_flag(request, "recursive", false);
  co_await services.core.database.read([&](db::Connection& connection) {
    auto run = get_run(connection, request.params.at("workspace"), request.params.at("run"));
    selection.runs = {{run.sequence, run.id}};
    if (!selection.name_runs) return;
    auto family = db::runs::descendants(connection, run.id);
    for (auto each = family.rbegin(); each != family.rend(); ++each)
      selection.runs.push_back({each->sequence, each->id});
  });
  co_return selection;
}

Task<Response> get_metrics(Services& services, Request& request) {
  allow_query(request, {"name", "recursive", "limit", "cursor"});
  auto limit = record_limit(request);
  auto cursor = page_cursor(request);
  auto selection = co_await select(services, request);
  if (request.header("accept").value_or("").find(kLines) != std::string::npos) {
    Response response;
    response.headers["content-type"] = kLines;
    response.body =
        net::StreamBody([&services, selection, cancel = request.cancel](net::BodyWriter& out) -> Task<void> {
          co_await stream_metrics(services.core, selection, cancel, out);
        });
    co_return response;
  }
  auto scope =
      fmt::format("metrics of {}\n{}\n{}", request.params.at("run"), selection.name_runs, selection.name.value_or(""));
  auto page = co_await read_metric_page(services.core, selection, scope, limit, cursor);
  std::string body = "{\"items\":[";
  body += page.items;
  body += page.next ? fmt::format("],\"next\":\"{}\"}}", *page.next) : std::string("],\"next\":null}");
  co_return Response::json(std::move(body));
}

Task<Response> append(Services& services, Request& request) {
  auto piece = co_await read_journal_piece(request);
  auto load = [&request](db::Connection& connection) { return get_own_run(connection, request); };
  co_return stand_response(co_await services.journals.append(load, std::move(piece)));
}

Task<Response> get_position(Services& services, Request& request) {
  allow_query(request, {"source"});
  auto source = require_query(request, "source");
  base::value_or_throw(model::check_metric_source(source));
  auto stand = co_await services.core.database.read([&](db::Connection& connection) {
    auto run = get_run(connection, request.params.at("workspace"), request.params.at("run"));
    return db::metrics::find_source(connection, run.sequence, source);
  });
  co_return json_response({{"offset", stand.offset}});
}

}  // namespace

Task<JournalPiece> read_journal_piece(Request& request) {
  allow_query(request, {"source", "offset"});
  JournalPiece piece;
  piece.source = require_query(request, "source");
  base::value_or_throw(model::check_metric_source(piece.source));
  require_query(request, "offset");
  piece.offset = query_integer(request, "offset", 0);
  piece.bytes = co_await request.text();
  co_return piece;
}

Response stand_response(const MetricJournals::Stand& stand) {
  if (!stand.hole) return json_response({{"offset", stand.offset}});
  auto response = Response::error(
      Error(Code::conflict, fmt::format("the journal is here up to byte {}; this would leave a hole", stand.offset))
          .field("offset")
          .hint("go on from there"));
  response.headers["lathe-offset"] = fmt::format("{}", stand.offset);
  return response;
}

void add_metric_routes(net::Router& router, Services& services) {
  const std::string metrics = "/api/v1/workspaces/{workspace}/runs/{run}/metrics";
  router.add({"GET", metrics, "getRunMetrics", Permission::read, endpoint(services, get_metrics)});
  router.add({"POST", metrics, "appendRunMetrics", Permission::write_or_own_run, endpoint(services, append),
              kMaxJournalPiece});
  router.add({"GET", metrics + "/positions", "getMetricPosition", Permission::read, endpoint(services, get_position)});
}

}  // namespace lathe::server
