#include "server/run_edits.h"

#include "db/attempts.h"
#include "db/events.h"
#include "db/run_inputs.h"
#include "db/runs.h"
#include "server/http_tools.h"
#include "server/run_changes.h"
#include "server/run_environment.h"
#include "wire/run.h"

namespace lathe::server {

using base::Code;
using base::Error;
using model::RunRecord;
using net::Request;
using net::Response;
using rt::Task;

namespace {

bool same_labels(const RunRecord& a, const RunRecord& b) {
  return a.spec.tags == b.spec.tags && a.spec.properties == b.spec.properties && a.archived == b.archived;
}

}  // namespace

void require_own(db::Connection& connection, const net::Principal& principal, const model::RunId& run) {
  if (principal.role != net::Role::run || db::runs::belongs_to(connection, run, {principal.run_id})) return;
  throw Error(Code::forbidden, fmt::format("the token of run {} may not act for run {}", principal.run_id, run.value))
      .hint("a run's token is for that run and its descendants");
}

RunRecord get_own_run(db::Connection& connection, const Request& request) {
  auto run = get_run(connection, request.params.at("workspace"), request.params.at("run"));
  require_own(connection, request.principal, run.id);
  return run;
}

ShownRun read_shown(db::Connection& connection, RunRecord run) {
  ShownRun shown;
  shown.attempts = db::attempts::list(connection, run.sequence);
  if (!run.spec.inputs.empty()) shown.inputs = db::run_inputs::list(connection, run.sequence);
  if (may_be_built(run.spec))
    if (auto row = db::run_environments::find(connection, run.sequence)) shown.built = show_environment(*row);
  if (run.spec.definition) shown.definition = db::runs::definition(connection, run.sequence);
  shown.run = std::move(run);
  return shown;
}

Response show_run(Services& services, const ShownRun& shown, int status) {
  wire::RunView view{shown.run, shown.attempts, services.preparation.explain(shown.run), &shown.inputs,
                     shown.built ? &*shown.built : nullptr};
  return Response::json(wire::encode_run(view, shown.definition), status);
}

Task<Response> show_run(Services& services, RunRecord run, int status) {
  auto shown = co_await services.core.database.read([&](db::Connection& connection) {
    auto now = db::runs::find(connection, run.id);
    return read_shown(connection, now ? std::move(*now) : std::move(run));  // it may be deleted already
  });
  co_return show_run(services, shown, status);
}

Task<Response> edit_run(Services& services, Request& request, EditNote note, std::function<void(RunRecord&)> apply) {
  auto& core = services.core;
  auto caller = caller_of(request);
  auto now = core.clock.utc();
  auto run = co_await core.database.write([&](db::Connection& connection) {
    auto before = get_own_run(connection, request);
    auto after = before;
    apply(after);
    if (same_labels(before, after)) return before;
    ++after.generation;
    db::runs::store(connection, before, after);
    db::events::append_change(connection, after, note.kind, note.detail, now);
    audit(connection, caller, now, note.action, after.id.value, note.detail);
    return after;
  });
  services.dispatcher.edited(run);
  core.events.notify(run.id.value);
  co_return co_await show_run(services, std::move(run), 200);
}

}  // namespace lathe::server
