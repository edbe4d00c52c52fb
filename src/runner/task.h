// The life of one node task: spool, claim, prepare, run, exit record, delivery. Blocking; the whole process is its own
// (it takes over signals and becomes a subreaper), so a caller that is more than a runner forks first.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "runner/retry.h"
#include "runner/server_link.h"
#include "runner/spool.h"
#include "wire/box_rules.h"

namespace lathe::runner {

// Puts the files of a snapshot into an empty folder, as private copies. `keep_going` is asked between pieces; its error
// ends the delivery.
using SnapshotDelivery =
    std::function<base::Result<void>(ServerLink& link, const base::Digest& tree, const std::filesystem::path& folder,
                                     const std::function<base::Result<void>()>& keep_going)>;

struct TaskOptions {
  std::filesystem::path work;  // the folder of this task: spool/ and run/ are made in it
  SpoolHeader header;
  std::string url;  // as the script can reach the server
  BackoffLimits backoff;
  SnapshotDelivery deliver_snapshot;
  std::optional<wire::BoxRules> box = {};  // absent: the run has none
};

// Returns when everything is delivered. fenced: the attempt was over, and all traces of it here are removed.
base::Result<void> run_task(const TaskOptions& options, const LinkFactory& make_link);

struct AdoptOptions {
  std::filesystem::path spool;
  base::Duration patience = std::chrono::seconds(70);  // longer than a guardian needs to kill what is left
  BackoffLimits backoff;
};
// Delivers what a dead runner left. `make_link` gets the header: the token is in it.
base::Result<void> adopt_spool(const AdoptOptions& options,
                               const std::function<std::unique_ptr<ServerLink>(const SpoolHeader&)>& make_link);

}  // namespace lathe::runner
