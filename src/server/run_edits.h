// What the endpoints that change a run share: who may act for it, the change itself with its event and audit row, and
// the run as an answer.
#pragma once

#include <functional>
#include <string>

#include "server/endpoints.h"
#include "wire/run.h"

namespace lathe::server {

// The run of the path, in a database closure. A run's token may act for its own run and that run's descendants only:
// `forbidden` for any other.
model::RunRecord get_own_run(db::Connection& connection, const net::Request& request);
// The same test for a run that is known already.
void require_own(db::Connection& connection, const net::Principal& principal, const model::RunId& run);

// A run with all that an answer shows of it, read in one closure: parts of two moments could contradict each other.
struct ShownRun {
  model::RunRecord run;
  std::vector<model::AttemptRecord> attempts;
  model::ResolvedInputs inputs;
  std::optional<wire::BuiltEnvironment> built;
  std::string definition;
};
ShownRun read_shown(db::Connection& connection, model::RunRecord run);
net::Response show_run(Services& services, const ShownRun& shown, int status);
// For a run that the caller has just written: shown as it is now.
rt::Task<net::Response> show_run(Services& services, model::RunRecord run, int status);

// What is written about a change that touches no state.
struct EditNote {
  std::string kind;    // of the event
  std::string action;  // of the audit row
  std::string detail;
};
// Applies `apply` to the run of the path: the next generation, an event, an audit row; answers with the run. An edit
// that changes nothing writes nothing.
rt::Task<net::Response> edit_run(Services& services, net::Request& request, EditNote note,
                                 std::function<void(model::RunRecord&)> apply);

}  // namespace lathe::server
