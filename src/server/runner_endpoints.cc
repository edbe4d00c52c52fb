// The runner's side of the API: one attempt, and a token that no process of the user sees.
#include "base/log.h"
#include "base/strings.h"
#include "db/run_environments.h"
#include "model/names.h"
#include "server/artifact_intake.h"
#include "server/endpoints.h"
#include "server/environment_builds.h"
#include "server/environment_credentials.h"
#include "server/http_tools.h"
#include "wire/json.h"
#include "wire/records.h"

namespace lathe::server {

using base::Code;
using base::Error;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

constexpr std::size_t kMostFiles = 10'000;
constexpr std::uint64_t kMaxLogPiece = 16u << 20;

AttemptName attempt_name(const Request& request) {
  auto number = base::parse_u64(request.params.at("attempt"));
  if (!number || *number > INT32_MAX) throw Error(Code::invalid, "an attempt is named by its number").field("attempt");
  return {request.params.at("run"), static_cast<int>(*number)};
}

Task<Response> claim(Services& services, Request& request) {
  auto body = co_await json_body(request);
  int node = 0, pid = 0;
  std::string version, host;
  wire::Fields fields(body);
  fields.need("node").integer("node", node).text("runner_version", version).text("host", host).integer("pid", pid);
  base::value_or_throw(fields.finish());
  auto order = co_await services.desk.claim(attempt_name(request), node, request.peer_uid == ::geteuid());
  base::log::debug("claimed", {{"run", order.run.value},
                               {"attempt", order.attempt},
                               {"node", node},
                               {"runner", base::printable(version, 60)},
                               {"host", base::printable(host, 255)},
                               {"pid", pid}});
  co_return Response::json(wire::encode_order(order));
}

Task<Response> watch(Services& services, Request& request) {
  allow_query(request, {"node"});
  auto name = attempt_name(request);
  auto node = query_integer(request, "node", 0);
  base::value_or_throw(model::check_range("node", node, 0, INT32_MAX));
  services.dispatcher.require_live(name.run_id, name.number);
  Response response;
  response.headers["content-type"] = "application/x-ndjson";
  response.body = net::StreamBody([&services, name, node, cancel = request.cancel](net::BodyWriter& out) -> Task<void> {
    co_await services.desk.watch(name, static_cast<int>(node), cancel, out);
  });
  co_return response;
}

Task<Response> exchange_secrets(Services& services, Request& request) {
  auto body = co_await json_body(request);
  int node = 0;
  std::vector<std::string> hidden;
  wire::Fields fields(body);
  fields.need("node").need("hidden").integer("node", node).texts("hidden", hidden);
  base::value_or_throw(fields.finish());
  json::array secrets;
  for (auto& secret : services.desk.exchange_secrets(attempt_name(request), node, hidden))
    secrets.push_back({{"id", secret.id}, {"value", secret.value}});
  auto response = json_response({{"secrets", std::move(secrets)}});
  response.headers["cache-control"] = "no-store";
  co_return response;
}

// For a node that builds the environment of its run itself; used there as here, and kept nowhere.
Task<Response> give_index_credentials(Services& services, Request& request) {
  allow_query(request, {});
  auto& core = services.core;
  const auto run = services.desk.get_run(attempt_name(request));
  auto row = co_await core.database.read(
      [&](db::Connection& connection) { return db::run_environments::find(connection, run.sequence); });
  if (!row || !row->lock) throw Error(Code::not_found, "the run has no environment that is built");
  auto lock = co_await services.builds.read_lock(*row->lock);
  auto known = co_await known_credentials(core, run.workspace, index_urls(lock));
  json::array credentials;
  for (const auto& [name, credential] : known)
    credentials.push_back({{"name", name}, {"user", credential.user}, {"password", credential.password}});
  if (!known.empty())
    co_await core.database.write([&, caller = caller_of(request), now = core.clock.utc()](db::Connection& connection) {
      for (const auto& [name, credential] : known) audit(connection, caller, now, "secret.get", name, run.workspace);
    });
  auto response = json_response({{"credentials", std::move(credentials)}});
  response.headers["cache-control"] = "no-store";
  co_return response;
}

Task<Response> get_positions(Services& services, Request& request) {
  allow_query(request, {"node"});
  auto name = attempt_name(request);
  json::object streams;
  for (const auto& stream : services.dispatcher.log_streams(name.run_id, name.number)) {
    auto node = query_integer(request, "node", stream.task.node);
    if (node != stream.task.node) continue;
    auto position = co_await services.logs.position(stream);
    streams[stream.name] = {
        {"segment", position.segment}, {"size", position.size}, {"sealed_through", position.segment - 1}};
  }
  co_return json_response({{"streams", std::move(streams)}});
}

Task<Response> append_log(Services& services, Request& request) {
  allow_query(request, {"name", "segment", "offset", "seal"});
  auto stream = services.desk.log_of(attempt_name(request), require_query(request, "name"));
  auto segment = query_integer(request, "segment", 0), offset = query_integer(request, "offset", 0);
  base::value_or_throw(model::check_range("segment", segment, 0, INT32_MAX));
  bool seal = query_flag(request, "seal", false);
  auto bytes = co_await request.text();
  std::optional<Error> hole;
  try {
    auto add = [&]() -> Task<std::uint64_t> {
      auto size =
          co_await services.logs.append(stream, static_cast<int>(segment), static_cast<std::uint64_t>(offset), bytes);
      if (seal) co_await services.logs.seal(stream, static_cast<int>(segment), size);
      co_return size;
    };
    // The last piece may be what the end of a run waits for; the others wait for room.
    auto size = seal ? co_await services.core.reserve.spend(add) : co_await add();
    co_return json_response({{"size", size}});
  } catch (const Error& error) {
    if (error.code() != Code::conflict) throw;
    hole = error;
  }
  auto response = Response::error(*hole);
  auto position = co_await services.logs.position(stream);
  response.headers["lathe-offset"] = fmt::format("{}", position.size);
  response.headers["lathe-segment"] = fmt::format("{}", position.segment);
  co_return response;
}

Task<Response> link_log(Services& services, Request& request) {
  auto body = co_await json_body(request);
  std::string name;
  std::int64_t segment = 0, size = 0;
  bool seal = false;
  wire::Fields fields(body);
  fields.need("name")
      .need("segment")
      .need("size")
      .text("name", name)
      .integer("segment", segment)
      .integer("size", size)
      .boolean("seal", seal);
  base::value_or_throw(fields.finish());
  base::value_or_throw(model::check_range("segment", segment, 0, INT32_MAX));
  base::value_or_throw(model::check_range("size", size, 0, INT64_MAX));
  auto stream = services.desk.log_of(attempt_name(request), name);
  // The path is made of our own numbers; nothing the runner says is part of it.
  auto source = services.core.provider.folder(stream.task) / "spool" / fmt::format("log.{}", segment);
  auto known = co_await services.core.reserve.spend([&]() -> Task<std::uint64_t> {
    auto linked =
        co_await services.logs.link(stream, static_cast<int>(segment), static_cast<std::uint64_t>(size), source);
    if (seal) co_await services.logs.seal(stream, static_cast<int>(segment), static_cast<std::uint64_t>(size));
    co_return linked;
  });
  co_return json_response({{"size", known}});
}

// A script must never fail for what it logs: a line that is no record is passed over and noted.
Task<Response> append_metrics(Services& services, Request& request) {
  auto name = attempt_name(request);
  services.dispatcher.require_live(name.run_id, name.number);
  auto piece = co_await read_journal_piece(request);
  piece.malformed = Malformed::skip;
  services.desk.note_progress(request.principal);
  auto load = [name](db::Connection& connection) { return get_live_run(connection, name); };
  auto stand = co_await services.journals.append(load, std::move(piece));
  if (stand.noted) services.dispatcher.edited(*stand.noted);
  co_return stand_response(stand);
}

Task<Response> put_artifacts(Services& services, Request& request) {
  auto files = read_artifacts(co_await json_body(request), "files");
  co_await services.desk.put_artifacts(attempt_name(request), std::move(files));
  co_return Response::empty(204);
}

Task<Response> put_outputs(Services& services, Request& request) {
  auto body = co_await json_body(request);
  std::vector<OutputFile> files;
  wire::Fields fields(body);
  fields.need("files").objects("files", [&](wire::Fields& file) {
    OutputFile& output = files.emplace_back();
    std::optional<base::Digest> digest;
    file.need("output").need("path").need("digest").need("size");
    file.text("output", output.output).text("path", output.path).digest("digest", digest).integer("size", output.size);
    output.digest = digest.value_or(base::Digest{});
  });
  base::value_or_throw(fields.finish());
  if (files.size() > kMostFiles)
    throw Error(Code::too_large, fmt::format("at most {} files in one call", kMostFiles)).field("files");
  for (const auto& file : files) {
    base::value_or_throw(model::check_artifact_path("files.path", file.path));
    base::value_or_throw(model::check_range("files.size", file.size, 0, INT64_MAX));
  }
  co_await services.desk.put_outputs(attempt_name(request), std::move(files));
  co_return Response::empty(204);
}

Task<Response> add_notes(Services& services, Request& request) {
  auto body = co_await json_body(request);
  std::vector<std::string> notes;
  wire::Fields fields(body);
  fields.need("notes").texts("notes", notes);
  base::value_or_throw(fields.finish());
  if (notes.empty() || notes.size() > model::kMaxRunData)
    throw Error(Code::invalid, fmt::format("from 1 to {} notes", model::kMaxRunData)).field("notes");
  for (auto& note : notes) note = base::printable(note, 1000);
  co_await services.desk.add_notes(attempt_name(request), std::move(notes));
  co_return Response::empty(204);
}

void check_exit(const model::ExitRecord& exit) {
  base::value_or_throw(model::check_range("exit.unkillable", exit.unkillable, 0, INT32_MAX));
}

Task<Response> report_state(Services& services, Request& request) {
  allow_query(request, {"node"});
  auto body = co_await json_body(request);
  std::string state;
  model::ExitRecord exit;
  wire::Fields fields(body);
  fields.need("state").text("state", state).object("exit", [&](wire::Fields& nested) {
    wire::read_exit(nested, exit);
  });
  base::value_or_throw(fields.finish());
  check_exit(exit);
  std::int64_t node = -1;  // a runner of an earlier version does not say it
  if (request.query_value("node")) {
    node = query_integer(request, "node", 0);
    base::value_or_throw(model::check_range("node", node, 0, INT32_MAX));
  }
  if (state != "finalizing")
    throw Error(Code::invalid, fmt::format("state must be finalizing, not '{}'", base::printable(state, 40)))
        .field("state");
  co_await services.desk.process_ended(attempt_name(request), static_cast<int>(node));
  co_return Response::empty(204);
}

// How many bytes of each log the runner has.
std::map<std::string, std::uint64_t> read_log_totals(const json::value& logs) {
  std::map<std::string, std::uint64_t> totals;
  if (logs.is_null()) return totals;
  if (!logs.is_object()) throw Error(Code::invalid, "logs must be an object of log names").field("logs");
  for (const auto& entry : logs.get_object()) {
    base::value_or_throw(model::check_artifact_path("logs", entry.key()));
    std::int64_t segments = 0, size = 0;
    wire::Fields fields(entry.value());
    fields.need("segments").need("size").integer("segments", segments).integer("size", size);
    base::value_or_throw(fields.finish());
    base::value_or_throw(model::check_range("logs.segments", segments, 0, INT32_MAX));
    base::value_or_throw(model::check_range("logs.size", size, 0, INT64_MAX));
    totals[entry.key()] = static_cast<std::uint64_t>(size);
  }
  return totals;
}

Task<Response> finish(Services& services, Request& request) {
  auto body = co_await json_body(request);
  int node = 0;
  model::ExitRecord exit;
  wire::Fields fields(body);
  fields.need("node").need("exit").integer("node", node).ignore("logs");
  fields.object("exit", [&](wire::Fields& nested) { wire::read_exit(nested, exit); });
  base::value_or_throw(fields.finish());
  std::map<std::string, std::uint64_t> log_bytes;
  if (const auto* logs = body.get_object().if_contains("logs")) log_bytes = read_log_totals(*logs);
  if (exit.reason == model::EndReason::none) throw Error(Code::invalid, "an exit needs a reason").field("exit.reason");
  check_exit(exit);
  auto state = co_await services.desk.finish(attempt_name(request), node, std::move(exit), std::move(log_bytes));
  co_return json_response({{"status", model::state_name(state)}});
}

}  // namespace

void add_runner_routes(net::Router& router, Services& services) {
  const std::string one = "/api/v1/attempts/{run}/{attempt}";
  router.add({"POST", one + "/claim", "claimAttempt", Permission::own_attempt, endpoint(services, claim)});
  router.add({"GET", one + "/watch", "watchAttempt", Permission::own_attempt, endpoint(services, watch)});
  router.add({"POST", one + "/secrets", "exchangeSecrets", Permission::own_attempt, endpoint(services, exchange_secrets)});
  router.add({"GET", one + "/index-credentials", "getIndexCredentials", Permission::own_attempt,
              endpoint(services, give_index_credentials)});
  router.add({"GET", one + "/logs", "getLogPositions", Permission::own_attempt, endpoint(services, get_positions)});
  router.add({"POST", one + "/logs", "appendLog", Permission::own_attempt, endpoint(services, append_log), kMaxLogPiece});
  router.add({"POST", one + "/logs/linked", "linkLog", Permission::own_attempt, endpoint(services, link_log)});
  router.add({"POST", one + "/metrics", "appendMetrics", Permission::own_attempt, endpoint(services, append_metrics),
              kMaxJournalPiece});
  router.add({"POST", one + "/artifacts", "putArtifacts", Permission::own_attempt, endpoint(services, put_artifacts)});
  router.add({"POST", one + "/outputs", "putOutputs", Permission::own_attempt, endpoint(services, put_outputs)});
  router.add({"POST", one + "/notes", "addNotes", Permission::own_attempt, endpoint(services, add_notes)});
  router.add({"POST", one + "/state", "reportState", Permission::own_attempt, endpoint(services, report_state)});
  router.add({"POST", one + "/finish", "finishAttempt", Permission::own_attempt, endpoint(services, finish)});
}

}  // namespace lathe::server
