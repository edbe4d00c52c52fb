// Which interpreter a run gets: its own, or the one that the site names (environments.interpreter) where it brings
// none. In this version nothing is built: a named environment is realised as the site's interpreter.
#pragma once

#include <string>
#include <vector>

#include "model/run.h"
#include "server/site_config.h"

namespace lathe::server {

// Refuses a script for which there is no interpreter; else what is to be noted in the run.
std::vector<std::string> check_interpreter(const SiteConfig& site, const model::RunSpec& spec);
// The environment of the run's processes.
model::EnvironmentRef resolve_environment(const SiteConfig& site, const model::RunSpec& spec);

}  // namespace lathe::server
