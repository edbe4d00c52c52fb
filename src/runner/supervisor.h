// Supervisor: the time from the start of the user's program to its end. One poll loop on the main thread owns the pipe,
// the timers and the stop ladder (SIGTERM, grace, SIGKILL); it never talks to the server itself, so a server that is
// away is not noticed here. Helper threads are made only when needed: the log shipper with the first byte of output,
// the watcher, the uploader of outputs and the metric shipper (with the first record) when the program has lived for a
// while. A run of `true` makes none.
#pragma once

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/time.h"
#include "model/run.h"
#include "runner/artifact_uploader.h"
#include "runner/inbox.h"
#include "runner/inputs.h"
#include "runner/live_uploader.h"
#include "runner/log_shipper.h"
#include "runner/log_spool.h"
#include "runner/metric_shipper.h"
#include "runner/retry.h"
#include "runner/spool_sync.h"
#include "runner/usage_meter.h"
#include "runner/watcher.h"
#include "sys/box.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/guardian.h"

namespace lathe::runner {

// What the supervisor works with; all of it outlives the supervisor.
struct Workshop {
  const Order& order;
  LogSpool& log;
  LogRedactor& redactor;
  LogShipper& shipper;
  ServerLink& link;  // lent to the shipper's thread while the program runs
  const LinkFactory& make_link;
  const RunFolder& run_folder;
  ArtifactUploader& uploader;
  MetricShipper& metrics;
  SpoolSync& sync;
  Inputs& inputs;
  Inbox& inbox;
  int signals;              // SIGTERM and companions come out here
  int spool_lock;           // the guardian holds it too
  sys::Box* box;            // in which the program runs; null: it has a guardian alone
  std::string group;        // name of the control group
  std::string group_slot;   // where it may lie idle between two runs; empty: nowhere
  base::Duration deadline;  // on the boot clock; max(): none
  BackoffLimits backoff;
};

class Supervisor {
 public:
  explicit Supervisor(Workshop workshop);
  ~Supervisor();

  // Starts the program and returns when no process of it is left and its log is in the spool. An error means that it
  // could not be started.
  base::Result<model::ExitRecord> run(sys::SpawnRequest program);

 private:
  base::Result<void> prepare_timers();
  base::Result<void> start(const sys::SpawnRequest& program, const sys::Pipe& pipe);
  void make_cgroup();
  void leave_cgroup_to_the_next(const std::optional<sys::GuardianReport>& report);
  int hung_in_box() const;
  void loop();
  void on_output();
  void on_signal();
  void on_inbox();
  void on_life_tick();
  void watch_for_metrics();
  void on_metrics();
  void request_stop(model::EndReason reason, std::string message);
  void kill();
  void drain();
  model::ExitRecord make_record(const std::optional<sys::GuardianReport>& report) const;

  Workshop shop_;
  std::optional<sys::Cgroup> group_;
  std::optional<sys::Guardian> own_guardian_;  // where there is no box
  sys::Guardian* guardian_ = nullptr;
  sys::Fd output_;
  std::optional<sys::BootTimer> limit_, grace_, life_;
  std::optional<ShipperThread> shipper_thread_;
  std::optional<SyncThread> sync_thread_;
  sys::Fd metrics_watch_;
  std::optional<MetricThread> metric_thread_;
  std::optional<Watcher> watcher_;
  std::optional<LiveUploader> live_;
  std::optional<UsageMeter> meter_;
  std::optional<model::EndReason> stop_;
  std::string stop_message_;
  int hung_ = 0;  // processes that hang in the kernel, where no guardian could say so
  base::UtcTime started_;
};

}  // namespace lathe::runner
