// RunPreparation: what the server does for a run between its submit and the queue: it brings the data of its inputs
// into the store and fixes what they are. One coroutine for each run that is Preparing; after a restart it is begun
// again, and what is in the store already costs nothing. Home thread.
#pragma once

#include <map>

#include "server/dispatcher.h"
#include "server/url_sources.h"

namespace lathe::server {

class RunPreparation {
 public:
  RunPreparation(Core& core, UrlSources& urls, Dispatcher& dispatcher)
      : core_(core), urls_(urls), dispatcher_(dispatcher) {}

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
    std::string news = "its inputs are looked up";
  };
  rt::Task<void> prepare(model::RunRecord run);
  rt::Task<model::ResolvedInputs> resolve(const model::RunRecord& run, rt::CancelToken cancel);
  rt::Task<void> queue(model::RunRecord run, model::ResolvedInputs inputs);
  rt::Task<void> fail(model::RunRecord run, base::Error why);

  Core& core_;
  UrlSources& urls_;
  Dispatcher& dispatcher_;
  std::map<std::string, Work> working_;  // by run id
};

}  // namespace lathe::server
