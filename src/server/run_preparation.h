// RunPreparation: what the server does for a run between its submit and the queue: it has its environment built, brings
// the data of its inputs into the store and fixes what they are. One coroutine for each run that is Preparing; after a
// restart it is begun again, and what is there already costs nothing. Home thread.
#pragma once

#include <map>

#include "db/environment_builds.h"
#include "server/dispatcher.h"
#include "server/url_sources.h"

namespace lathe::server {

class EnvironmentBuilds;

class RunPreparation {
 public:
  RunPreparation(Core& core, UrlSources& urls, EnvironmentBuilds& builds, Dispatcher& dispatcher)
      : core_(core), urls_(urls), builds_(builds), dispatcher_(dispatcher) {}

  // Before the API opens: goes on with every run that is Preparing.
  rt::Task<void> recover();
  // After the submit is on disk; nothing for a run that is not Preparing.
  void submitted(const model::RunRecord& run);
  // The run is Canceled: gives up what goes on for it.
  void canceled(const model::RunRecord& run);
  // What a run that is Preparing waits for; else what the dispatcher says.
  std::optional<wire::Waiting> explain(const model::RunRecord& run) const;

 private:
  struct Work {
    rt::CancelSource cancel;
    std::string news = "what it needs is looked up", until = "its environment and its inputs are here";
    std::optional<db::environment_builds::Build> build;  // that it waits or waited for
  };
  class Entry;
  rt::Task<void> prepare(model::RunRecord run);
  // Why not; nothing when the run is queued. `waited_for` is the build that it gave up waiting for.
  rt::Task<std::optional<base::Error>> try_to_prepare(model::RunRecord run,
                                                      std::optional<db::environment_builds::Build>& waited_for);
  rt::Task<model::ResolvedInputs> resolve(const model::RunRecord& run, rt::CancelToken cancel);
  // Nothing for a run without an environment that Lathe builds.
  rt::Task<std::optional<db::run_environments::RunEnvironment>> build(const model::RunRecord& run,
                                                                      rt::CancelToken cancel);
  rt::Task<void> keep_build_log(model::RunRecord run, db::environment_builds::Build build);
  rt::Task<void> queue(model::RunRecord run, Prepared prepared);
  rt::Task<void> fail(model::RunRecord run, base::Error why);

  Core& core_;
  UrlSources& urls_;
  EnvironmentBuilds& builds_;
  Dispatcher& dispatcher_;
  std::map<std::string, Work> working_;  // by run id
};

}  // namespace lathe::server
