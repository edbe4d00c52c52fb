// Inputs of runs: whether they can be had (at submit), what they are (when the run is prepared), and how a runner gets
// them (at its claim). Home thread; bytes are brought into the store by materialize().
#pragma once

#include "model/run.h"
#include "server/core.h"
#include "server/url_sources.h"
#include "wire/run_data.h"

namespace lathe::server {

// Throws invalid with the field when a dataset or datastore is not there or cannot be used so.
void check_run_data(db::Connection& connection, const std::string& workspace, const model::RunSpec& spec);

// Told now and then while an input is brought into the store, e.g. "fetching http://…".
using PreparationNews = std::function<void(std::string)>;

rt::Task<model::ResolvedInput> resolve_input(Core& core, UrlSources& urls, std::string workspace, model::RunInput input,
                                             PreparationNews news, rt::CancelToken cancel);

// What the runner of a run is told. `is_here`: it is on this machine and of this user, so that folders are named to it.
rt::Task<std::vector<wire::InputOrder>> order_inputs(Core& core, model::RunRecord run, bool is_here);

}  // namespace lathe::server
