// Runs: submit, list, show, cancel, tags, archive, delete.
#include <set>

#include "db/attempts.h"
#include "db/deleted_runs.h"
#include "db/events.h"
#include "db/run_list.h"
#include "db/runs.h"
#include "db/workspaces.h"
#include "model/names.h"
#include "server/endpoints.h"
#include "server/http_tools.h"
#include "server/input_resolver.h"
#include "server/run_changes.h"
#include "server/run_edits.h"
#include "server/run_environment.h"
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

// A run's token may begin interactive runs below its own; everything else needs a person.
void check_may_submit(db::Connection& connection, const net::Principal& principal, const model::RunSpec& spec) {
  if (principal.role != net::Role::run) return;
  if (spec.kind != model::RunKind::interactive || spec.parent.value.empty())
    throw Error(Code::forbidden, "a run's token may only submit interactive children of its run")
        .field(spec.parent.value.empty() ? "parent" : "kind")
        .hint("use a contributor's token to submit other runs");
  require_own(connection, principal, spec.parent);
}

// In the transaction of the submit, so that many at once cannot all be the last one.
void check_quota(db::Connection& connection, const SiteLimits& limits, const net::Principal& principal,
                 const model::RunId& id) {
  if (limits.runs_queued == 0 || principal.role == net::Role::admin || db::runs::find(connection, id)) return;
  if (db::runs::count_live_of(connection, principal.name, limits.runs_queued) < limits.runs_queued) return;
  throw Error(Code::rate_limited,
              fmt::format("'{}' has {} runs that are not over, as many as this site allows", principal.name,
                          limits.runs_queued))
      .hint("wait for some to end, or cancel some; limits.runs_queued in config.yaml is the rule");
}

Task<Response> submit(Services& services, Request& request) {
  auto parsed = base::value_or_throw(wire::parse_run_submit(co_await json_text(request)));
  auto& core = services.core;
  const auto& workspace = request.params.at("workspace");
  model::Submission submission{parsed.id, workspace, request.principal.name, {}};
  EnvironmentPlan plan;
  // Refused before anything is written: what can never run, and a snapshot that is not all here. A repeated submit must
  // get the run that exists, even when the compute target has gone since.
  auto existing = co_await core.database.read([&](db::Connection& connection) {
    db::workspaces::get(connection, workspace);
    check_may_submit(connection, request.principal, parsed.spec);
    auto found = db::runs::find(connection, parsed.id);
    if (!found) plan = plan_environment(connection, core.site, workspace, parsed.spec, parsed.environment_definition);
    return found;
  });
  if (!existing) {
    core.reserve.require_room();
    if (parsed.spec.kind == model::RunKind::script)
      submission.notes = services.dispatcher.check_can_run(workspace, parsed.spec);
    if (!parsed.spec.inputs.empty() || !parsed.spec.outputs.empty())
      co_await core.database.read(
          [&](db::Connection& connection) { check_run_data(connection, workspace, parsed.spec); });
    if (parsed.spec.snapshot) {
      co_await services.rights.require_nameable_tree(request.principal, *parsed.spec.snapshot, "snapshot");
      co_await services.trees.require_complete(*parsed.spec.snapshot, parsed.spec.command.script);
    }
  }
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  co_await look_for_environment(services.builds, workspace, parsed.spec, plan);
  for (auto& note : plan.notes) submission.notes.push_back(std::move(note));
  Wish wish{parsed.spec, parsed.definition, plan.definition ? &plan.row : nullptr,
            plan.definition ? &plan.definition->text : nullptr, !plan.is_built || plan.row.lock};
  auto outcome = co_await core.database.write([&](db::Connection& connection) {
    check_quota(connection, core.site.limits, request.principal, parsed.id);
    return submit_run(connection, submission, wish, caller, now);
  });
  if (!outcome.changed) co_return co_await show_run(services, std::move(outcome.run), 200);
  services.dispatcher.submitted(outcome.run);
  services.preparation.submitted(outcome.run);
  core.events.notify(outcome.run.id.value);
  auto built = show_environment(plan.row);
  wire::RunView view{
      outcome.run, {}, services.preparation.explain(outcome.run), nullptr, plan.definition ? &built : nullptr};
  co_return Response::json(wire::encode_run(view, parsed.definition), 201);
}

// `key` or `key=value` of the query parameter `name`.
std::optional<db::runs::TagFilter> label_filter(const Request& request, const std::string& name) {
  auto text = request.query_value(name);
  if (!text) return std::nullopt;
  auto equals = text->find('=');
  db::runs::TagFilter filter{text->substr(0, equals),
                             equals == text->npos ? std::nullopt : std::optional(text->substr(equals + 1))};
  base::value_or_throw(model::check_tag(name, filter.key, filter.value.value_or("")));
  return filter;
}

void read_kin_filters(const Request& request, db::runs::ListQuery& query) {
  query.parent = request.query_value("parent");
  if (query.parent) base::value_or_throw(model::check_run_id(*query.parent));
  query.recursive = query_flag(request, "recursive", false);
  if (query.recursive && !query.parent)
    throw Error(Code::invalid, "recursive needs a parent whose family is meant").field("recursive");
  if (request.query_value("run_type")) query.run_type = require_query(request, "run_type");
  if (query.run_type) base::value_or_throw(model::check_label("run_type", *query.run_type));
}

db::runs::ListQuery list_query(const Request& request) {
  allow_query(request, {"experiment", "status", "tag", "property", "parent", "recursive", "run_type", "since", "until",
                        "archived", "limit", "cursor"});
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
  query.tag = label_filter(request, "tag");
  query.property = label_filter(request, "property");
  read_kin_filters(request, query);
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
  for (const auto& run : page.items) items.push_back(wire::run_json({run, {}, services.preparation.explain(run)}));
  co_return list_response(std::move(items), page.next);
}

Task<Response> get(Services& services, Request& request) {
  allow_query(request, {});
  auto found = co_await services.core.database.read([&](db::Connection& connection) {
    return read_shown(connection, get_run(connection, request.params.at("workspace"), request.params.at("run")));
  });
  co_return show_run(services, found, 200);
}

Task<Response> cancel(Services& services, Request& request) {
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  auto outcome = co_await core.reserve.spend([&] {
    return core.database.write([&](db::Connection& connection) {
      auto run = get_own_run(connection, request);
      return cancel_run(connection, run, caller, now);
    });
  });
  if (outcome.changed) {
    services.dispatcher.cancel_asked(outcome.run);
    services.preparation.canceled(outcome.run);
    core.events.notify(outcome.run.id.value);
  }
  co_return co_await show_run(services, std::move(outcome.run), 200);
}

Task<Response> archive(Services& services, Request& request) {
  auto body = co_await json_body(request, true);
  bool archived = true;
  wire::Fields fields(body);
  fields.boolean("archived", archived);
  base::value_or_throw(fields.finish());
  co_return co_await edit_run(services, request, {"archived", "run.archive", archived ? "archived" : "unarchived"},
                              [&](RunRecord& run) { run.archived = archived; });
}

// Tags to set; null removes one or, where the caller says so, sets it without a value.
void change_tags(RunRecord& run, const model::Tags& changes, bool null_removes) {
  for (const auto& [key, value] : changes) {
    if (!value && null_removes)
      run.spec.tags.erase(key);
    else
      run.spec.tags[key] = value;
  }
  base::value_or_throw(model::check_tags(run.spec.tags));
}

Task<Response> patch_tags(Services& services, Request& request) {
  allow_query(request, {"null_removes"});
  bool null_removes = query_flag(request, "null_removes", true);
  auto body = co_await json_body(request);
  if (!body.is_object() || body.get_object().empty())
    throw Error(Code::invalid, "the body must be an object of tags, at least one")
        .hint(R"(e.g. {"stage": "final", "old": null})");
  model::Tags changes;
  for (const auto& entry : body.get_object()) {
    std::string key(entry.key());
    if (!entry.value().is_null() && !entry.value().is_string())
      throw Error(Code::invalid, "a tag's value must be a string, or null to remove it").field("tags");
    changes[key] = entry.value().is_null() ? std::nullopt : std::optional<std::string>(entry.value().get_string());
    base::value_or_throw(model::check_tag("tags", key, changes[key].value_or("")));
  }
  co_return co_await edit_run(services, request, {"tags", "run.tags", fmt::format("{} tags", changes.size())},
                              [&](RunRecord& run) { change_tags(run, changes, null_removes); });
}

void remove_run(db::Connection& connection, const RunRecord& run, const Caller& caller, base::UtcTime now,
                const std::set<std::string>& held) {
  if (held.contains(run.id.value))
    throw Error(Code::conflict, fmt::format("processes of run {} live on and hold its node", run.id.value))
        .field("run")
        .hint("delete it when they are gone: lathe compute show names the node; a restart of the machine ends them");
  db::runs::remove(connection, run);
  db::deleted_runs::add(connection, run.id, now);
  db::events::append_change(connection, run, "deleted", "deleted by " + caller.name, now);
  audit(connection, caller, now, "run.delete", run.id.value);
}

Task<Response> remove(Services& services, Request& request) {
  allow_query(request, {"recursive"});
  bool recursive = query_flag(request, "recursive", false);
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  const auto held = services.dispatcher.runs_that_hold();
  co_await core.reserve.spend([&] {
    return core.database.write([&](db::Connection& connection) {
      auto run = get_run(connection, request.params.at("workspace"), request.params.at("run"));
      if (recursive)
        for (const auto& each : db::runs::descendants(connection, run.id))
          remove_run(connection, each, caller, now, held);
      remove_run(connection, run, caller, now, held);
    });
  });
  core.events.notify();
  co_return Response::empty(204);
}

}  // namespace

void add_run_routes(net::Router& router, Services& services) {
  const std::string runs = "/api/v1/workspaces/{workspace}/runs", one = runs + "/{run}";
  router.add({"POST", runs, "submitRun", Permission::write_or_own_run, endpoint(services, submit)});
  router.add({"GET", runs, "listRuns", Permission::read, endpoint(services, list)});
  router.add({"GET", one, "getRun", Permission::read, endpoint(services, get)});
  router.add({"DELETE", one, "deleteRun", Permission::write, endpoint(services, remove)});
  router.add({"POST", one + "/cancel", "cancelRun", Permission::write_or_own_run, endpoint(services, cancel)});
  router.add({"POST", one + "/archive", "archiveRun", Permission::write, endpoint(services, archive)});
  router.add({"PATCH", one + "/tags", "patchRunTags", Permission::write_or_own_run, endpoint(services, patch_tags)});
}

}  // namespace lathe::server
