// Delivery: from an exit record in the spool to "the server has everything", the same for the runner that wrote it and
// for one that adopted it. Every step may be repeated; the spool goes away only after the server acknowledged the end.
#pragma once

#include <functional>

#include "base/error.h"
#include "model/run.h"
#include "runner/artifact_uploader.h"
#include "runner/log_shipper.h"
#include "runner/log_spool.h"
#include "runner/metric_shipper.h"
#include "runner/retry.h"
#include "runner/run_folder.h"
#include "runner/server_link.h"
#include "runner/spool.h"
#include "runner/spool_sync.h"

namespace lathe::runner {

struct Parcel {
  Spool& spool;
  LogSpool& log;
  LogShipper& shipper;
  MetricShipper& metrics;
  const std::string& log_name;
  const RunFolder* run_folder;  // null when it was never made
  ArtifactUploader* uploader;
  std::vector<std::string> kept_folders;  // what of the run folder is uploaded
  const model::ExitRecord& exit;
  SpoolSync* sync;  // for a delivery that has to wait; null: what there is has been on disk for long
  // After the end is acknowledged, before anything is removed: waits for processes that hang in the kernel. May be empty.
  std::function<void()> before_removal = {};
};

// Returns when the server has acknowledged the end, with spool and run folder removed. fenced: they are removed as
// well. Any other error leaves them for `lathe runner --adopt`; cancelled when `wake_fd` became readable meanwhile.
base::Result<void> deliver(ServerLink& link, const Parcel& parcel, BackoffLimits backoff, int wake_fd);

}  // namespace lathe::runner
