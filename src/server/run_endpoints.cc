// Runs: submit, list, show, cancel, tags, archive, delete.
#include "db/attempts.h"
#include "db/events.h"
#include "db/run_list.h"
#include "db/runs.h"
#include "db/workspaces.h"
#include "model/names.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/run_changes.h"
#include "server/trees.h"
#include "wire/json.h"
#include "wire/run.h"

namespace lathe::server {

using base::Code;
using base::Error;
using model::RunRecord;
using net::Permission;
using net::Request;
using net::Response;
using rt::Task;
namespace json = boost::json;

namespace {

Task<Response> show(Services& services, RunRecord run, int status) {
  auto attempts = co_await services.core.database.read(
      [&](db::Connection& connection) { return db::attempts::list(connection, run.sequence); });
  co_return json_response(wire::run_json({run, attempts, services.dispatcher.explain(run)}), status);
}

Task<Response> submit(Services& services, Request& request) {
  auto parsed = base::value_or_throw(wire::parse_run_submit(co_await json_text(request)));
  auto& core = services.core;
  const auto& workspace = request.params.at("workspace");
  model::Submission submission{parsed.id, workspace, request.principal.name, {}};
  // Refused before anything is written: what can never run, and a snapshot that is not all here. A repeated submit must
  // get the run that exists, even when the compute target has gone since.
  auto existing = co_await core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    return db::runs::find(connection, parsed.id);
  });
  if (!existing) {
    core.reserve.require_room();
    submission.notes = services.dispatcher.check_can_run(workspace, parsed.spec);
    if (parsed.spec.snapshot)
      co_await services.trees.require_complete(*parsed.spec.snapshot, parsed.spec.command.script);
  }
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  auto outcome = co_await core.database.write(
      [&](db::Connection& connection) { return submit_run(connection, submission, parsed.spec, caller, now); });
  if (!outcome.changed) co_return co_await show(services, std::move(outcome.run), 200);
  services.dispatcher.submitted(outcome.run);
  core.events.notify();
  co_return json_response(wire::run_json({outcome.run, {}, services.dispatcher.explain(outcome.run)}), 201);
}

db::runs::ListQuery list_query(const Request& request) {
  allow_query(request, {"experiment", "status", "tag", "since", "until", "archived", "limit", "cursor"});
  db::runs::ListQuery query;
  query.workspace = request.params.at("workspace");
  query.experiment = request.query_value("experiment");
  if (query.experiment) base::value_or_throw(model::check_experiment_name(*query.experiment));
  if (auto status = request.query_value("status")) {
    query.state = model::state_from_name(*status);
    if (!query.state)
      throw Error(Code::invalid, fmt::format("'{}' is not a status", *status))
          .field("status")
          .hint("e.g. Running, Completed, Failed");
  }
  if (auto tag = request.query_value("tag")) {
    auto equals = tag->find('=');
    query.tag = {tag->substr(0, equals), equals == tag->npos ? std::nullopt : std::optional(tag->substr(equals + 1))};
    base::value_or_throw(model::check_tag("tag", query.tag->key, query.tag->value.value_or("")));
  }
  for (auto [name, target] : {std::pair{"since", &query.since}, {"until", &query.until}}) {
    auto text = request.query_value(name);
    if (text && !(*target = base::parse_utc(*text)))
      throw Error(Code::invalid, fmt::format("{} must be a time like 2026-01-31T12:00:00Z, not '{}'", name, *text))
          .field(name);
  }
  if (request.query_value("archived")) query.archived = query_flag(request, "archived", false);
  query.limit = page_limit(request);
  query.cursor = page_cursor(request);
  return query;
}

Task<Response> list(Services& services, Request& request) {
  auto query = list_query(request);
  auto page = co_await services.core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, query.workspace);
    return db::runs::list(connection, query);
  });
  json::array items;
  for (const auto& run : page.items) items.push_back(wire::run_json({run, {}, services.dispatcher.explain(run)}));
  co_return list_response(std::move(items), page.next);
}

Task<RunRecord> find_run(Services& services, const Request& request) {
  co_return co_await services.core.database.read([&](db::Connection& connection) {
    return get_run(connection, request.params.at("workspace"), request.params.at("run"));
  });
}

Task<Response> get(Services& services, Request& request) {
  allow_query(request, {});
  co_return co_await show(services, co_await find_run(services, request), 200);
}

Task<Response> cancel(Services& services, Request& request) {
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  auto outcome = co_await core.reserve.spend([&] {
    return core.database.write([&](db::Connection& connection) {
      auto run = get_run(connection, request.params.at("workspace"), request.params.at("run"));
      return cancel_run(connection, run, caller, now);
    });
  });
  if (outcome.changed) {
    services.dispatcher.cancel_asked(outcome.run);
    core.events.notify();
  }
  co_return co_await show(services, std::move(outcome.run), 200);
}

// Changes that touch no state: the next generation, an event, an audit row.
template <class Edit>
Task<Response> edit(Services& services, Request& request, std::string kind, std::string action, std::string detail,
                    Edit apply) {
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  auto run = co_await core.database.write([&](db::Connection& connection) {
    auto before = get_run(connection, request.params.at("workspace"), request.params.at("run"));
    auto after = before;
    apply(after);
    ++after.generation;
    db::runs::store(connection, before, after);
    db::events::append_change(connection, after, kind, detail, now);
    audit(connection, caller, now, action, after.id.value, detail);
    return after;
  });
  services.dispatcher.edited(run);
  core.events.notify();
  co_return co_await show(services, std::move(run), 200);
}

Task<Response> archive(Services& services, Request& request) {
  auto body = co_await json_body(request, true);
  bool archived = true;
  wire::Fields fields(body);
  fields.boolean("archived", archived);
  base::value_or_throw(fields.finish());
  co_return co_await edit(services, request, "archived", "run.archive", archived ? "archived" : "unarchived",
                          [&](RunRecord& run) { run.archived = archived; });
}

Task<Response> patch_tags(Services& services, Request& request) {
  auto body = co_await json_body(request);
  if (!body.is_object())
    throw Error(Code::invalid, "the body must be an object of tags").hint(R"(e.g. {"stage": "final", "old": null})");
  std::map<std::string, std::optional<std::string>> changes;
  for (const auto& entry : body.get_object()) {
    std::string key(entry.key());
    if (entry.value().is_null())
      changes[key] = std::nullopt;
    else if (entry.value().is_string())
      changes[key] = std::string(entry.value().get_string());
    else
      throw Error(Code::invalid, "a tag's value must be a string, or null to remove it").field("tags");
    base::value_or_throw(model::check_tag("tags", key, changes[key].value_or("")));
  }
  co_return co_await edit(services, request, "tags", "run.tags", fmt::format("{} tags", changes.size()),
                          [&](RunRecord& run) {
                            for (const auto& [key, value] : changes) {
                              if (value)
                                run.spec.tags[key] = *value;
                              else
                                run.spec.tags.erase(key);
                            }
                            base::value_or_throw(model::check_tags("tags", run.spec.tags, model::kMaxTags));
                          });
}

Task<Response> remove(Services& services, Request& request) {
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_await core.reserve.spend([&] {
    return core.database.write([&](db::Connection& connection) {
      auto run = get_run(connection, request.params.at("workspace"), request.params.at("run"));
      db::runs::remove(connection, run);
      db::events::append_change(connection, run, "deleted", "deleted by " + caller.name, now);
      audit(connection, caller, now, "run.delete", run.id.value);
    });
  });
  core.events.notify();
  co_return Response::empty(204);
}

}  // namespace

void add_run_routes(net::Router& router, Services& services) {
  const std::string runs = "/api/v1/workspaces/{workspace}/runs", one = runs + "/{run}";
  router.add({"POST", runs, "submitRun", Permission::write, endpoint(services, submit)});
  router.add({"GET", runs, "listRuns", Permission::read, endpoint(services, list)});
  router.add({"GET", one, "getRun", Permission::read, endpoint(services, get)});
  router.add({"DELETE", one, "deleteRun", Permission::write, endpoint(services, remove)});
  router.add({"POST", one + "/cancel", "cancelRun", Permission::write, endpoint(services, cancel)});
  router.add({"POST", one + "/archive", "archiveRun", Permission::write, endpoint(services, archive)});
  router.add({"PATCH", one + "/tags", "patchRunTags", Permission::write, endpoint(services, patch_tags)});
}

}  // namespace lathe::server
