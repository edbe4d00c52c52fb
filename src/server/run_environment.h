// Which Python a run gets: its own interpreter, the site's (environments.interpreter), or an environment that Lathe
// builds. Decided at the submit, where what can never work is refused.
#pragma once

#include <string>
#include <vector>

#include "db/run_environments.h"
#include "model/run.h"
#include "server/environment_builds.h"
#include "server/site_config.h"
#include "wire/order.h"
#include "wire/run.h"

namespace lathe::server {

struct EnvironmentPlan {
  std::vector<std::string> notes;        // for the run
  std::optional<Definition> definition;  // what the run gets beyond an interpreter that it or the site names
  bool is_built = false;                 // Lathe builds it; else the definition is that of a user's own interpreter
  db::run_environments::RunEnvironment row = {};  // of a plan with a definition
};
// Throws what the definition, its name or the missing of both deserves. `text` is the submitted definition, or empty.
EnvironmentPlan plan_environment(db::Connection& connection, const SiteConfig& site, const std::string& workspace,
                                 const model::RunSpec& spec, const std::string& text);

// Whether what the plan means is on this machine already: then the row has its lock, and the run waits for nothing.
rt::Task<void> look_for_environment(EnvironmentBuilds& builds, std::string workspace, const model::RunSpec& spec,
                                    EnvironmentPlan& plan);

// The environment of the run's processes, as its runner is told. `row`: of a run that has one.
void order_environment(const EnvironmentSite& builds, const SiteConfig& site, const model::RunSpec& spec,
                       const std::optional<db::run_environments::RunEnvironment>& row, const std::string& definition,
                       wire::RunnerOrder& order);
// Whether a row may have to be looked up for it.
bool may_be_built(const model::RunSpec& spec);

// What was replaced, one line each, for the notes of the run.
std::vector<std::string> replacement_notes(const std::string& substitutions_json);

wire::BuiltEnvironment show_environment(const db::run_environments::RunEnvironment& row);

// What the run waits for, or has: the source matters where the definition names files of it.
EnvironmentBuilds::Wish build_wish(std::string workspace, const model::RunSpec& spec, Definition definition);

// The build's log as a file of the run.
inline constexpr std::string_view kBuildLog = "azureml-logs/20_image_build_log.txt";

}  // namespace lathe::server
