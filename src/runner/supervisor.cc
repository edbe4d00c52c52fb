#include "runner/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <system_error>

#include "base/log.h"
#include "base/strings.h"
#include "runner/output_folders.h"
#include "sys/process_tree.h"

namespace lathe::runner {
namespace {

// Most short runs are over by then and cost neither threads nor connections.
constexpr base::Duration kShortLife = std::chrono::milliseconds(150);
constexpr int kPipeBytes = 1 << 20;
// Pieces of output taken before the other descriptors are looked at again.
constexpr int kPumpsPerTurn = 16;

std::string describe_signal(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? fmt::format("killed by signal {} (SIG{})", signal, name) : fmt::format("killed by signal {}", signal);
}

// A machine that is short of threads does not end the run: what a helper would have shipped is in the spool and is sent
// with the end, and the next chance is taken to make it after all.
template <class Make>
void make_thread(Make make) {
  try {
    make();
  } catch (const std::system_error& error) {
    base::log::warn("a helper thread could not be made now", {{"why", error.what()}});
  }
}

}  // namespace

Supervisor::Supervisor(Workshop workshop) : shop_(std::move(workshop)) {}
Supervisor::~Supervisor() = default;

base::Result<void> Supervisor::prepare_timers() {
  for (auto* timer : {&limit_, &grace_, &life_}) {
    LATHE_TRY(sys::BootTimer made, sys::BootTimer::create());
    *timer = std::move(made);
  }
  if (shop_.deadline != base::Duration::max())
    limit_->arm(std::max<base::Duration>(std::chrono::nanoseconds(1), shop_.deadline - sys::boot_time()));
  life_->arm(kShortLife);
  return {};
}

// Only where the memory limit is to be enforced: a group costs a tenth of a millisecond, and the guardian finds every
// process without one.
void Supervisor::make_cgroup() {
  const Order& order = shop_.order;
  if (!order.enforce_memory || order.slice.memory_bytes <= 0) return;
  auto group = sys::Cgroup::create(shop_.group, {order.slice.memory_bytes, order.slice.millicores}, shop_.group_slot);
  if (group)
    group_.emplace(std::move(*group));
  else
    base::log::warn("no cgroup: the memory limit is not enforced", {{"error", group.error().text()}});
}

// What a longer life leaves in the page cache is counted against its group, and so is a process that does not die.
void Supervisor::leave_cgroup_to_the_next(const std::optional<sys::GuardianReport>& report) {
  if (group_ && ((report && report->unkillable > 0) || hung_ > 0)) return group_->abandon();
  const bool is_clean = report && report->unkillable == 0 && !meter_;
  if (group_ && is_clean) group_->leave_idle();
}

base::Result<model::ExitRecord> Supervisor::run(sys::SpawnRequest program) {
  LATHE_TRY(sys::Pipe pipe, sys::make_pipe());
  ::fcntl(pipe.read.get(), F_SETPIPE_SZ, kPipeBytes);  // fewer wake-ups; a refusal (limit of the user) is fine
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  LATHE_TRY_VOID(prepare_timers());
  make_cgroup();
  if (group_) program.cgroups = group_->join_descriptors();
  program.output = program.error = pipe.write.get();
  started_ = sys::utc_now();
  LATHE_TRY_VOID(start(program, pipe));
  pipe.write.reset();
  output_ = std::move(pipe.read);
  on_inbox();  // a wish that came while the folder was prepared
  loop();
  auto report = guardian_->read_report();
  // The runner is a subreaper, too: what a guardian without a box left has come to it.
  if (!report) hung_ = shop_.box ? hung_in_box() : sys::kill_own_descendants(sys::kKillLimit);
  drain();
  if (report && !report->started) return base::fail(base::Error(report->start_code, report->start_error));
  auto record = make_record(report);
  leave_cgroup_to_the_next(report);
  return record;
}

base::Result<void> Supervisor::start(const sys::SpawnRequest& program, const sys::Pipe& pipe) {
  if (shop_.box) {
    LATHE_TRY_VOID(shop_.box->run(program, pipe.read.get(), fmt::format("{}", shop_.order.segment_bytes)));
    guardian_ = shop_.box;
    return {};
  }
  auto save_rest = [this, read = pipe.read.get()] { shop_.log.save_rest(read); };
  LATHE_TRY(auto guardian, sys::Guardian::start(program, {.group = group_ ? &*group_ : nullptr,
                                                          .keep = {shop_.spool_lock, pipe.read.get()},
                                                          .last_words = save_rest}));
  guardian_ = &own_guardian_.emplace(std::move(guardian));
  return {};
}

// Its first process was killed, and the kernel kills the others.
int Supervisor::hung_in_box() const {
  if (shop_.box->wait_until_gone(sys::kKillLimit)) return 0;
  return std::max(1, static_cast<int>(sys::descendants(shop_.box->pid()).size()));
}

void Supervisor::loop() {
  for (;;) {
    pollfd waits[] = {{guardian_->fd(), POLLIN, 0},  {output_.get(), POLLIN, 0},       {shop_.signals, POLLIN, 0},
                      {shop_.inbox.fd(), POLLIN, 0}, {limit_->fd(), POLLIN, 0},        {grace_->fd(), POLLIN, 0},
                      {life_->fd(), POLLIN, 0},      {metrics_watch_.get(), POLLIN, 0}};
    if (::poll(waits, std::size(waits), -1) < 0) continue;
    if (waits[1].revents != 0) on_output();
    if (waits[2].revents != 0) on_signal();
    if (waits[3].revents != 0) on_inbox();
    if (waits[4].revents != 0 && limit_->take())
      request_stop(model::EndReason::timed_out,
                   fmt::format("stopped at the time limit of {} s", shop_.order.max_run_duration_seconds));
    if (waits[5].revents != 0 && grace_->take()) kill();
    if (waits[6].revents != 0 && life_->take()) on_life_tick();
    if (waits[7].revents != 0) on_metrics();
    if (waits[0].revents != 0) return;
  }
}

void Supervisor::on_output() {
  bool some = false;
  for (int pumps = 0; pumps < kPumpsPerTurn; ++pumps) {
    auto pumped = shop_.log.pump(output_.get());
    if (pumped == LogSpool::Pumped::end) output_.reset();
    if (pumped != LogSpool::Pumped::some) break;
    some = true;
  }
  if (!some) return;
  if (!shipper_thread_)
    make_thread([&] { shipper_thread_.emplace(shop_.shipper, shop_.link, shop_.inbox, shop_.backoff); });
  if (shipper_thread_) shipper_thread_->nudge();
  if (sync_thread_) sync_thread_->nudge();
}

// Every process is gone, so the pipe gets no more; whoever may hold its end elsewhere is not waited for.
void Supervisor::drain() {
  while (output_ && shop_.log.pump(output_.get()) == LogSpool::Pumped::some) {
  }
  output_.reset();
}

void Supervisor::on_signal() {
  sys::take_signals(shop_.signals);
  request_stop(model::EndReason::canceled, "the runner was asked to stop");
}

void Supervisor::on_inbox() {
  shop_.inbox.acknowledge();
  if (shop_.inbox.fenced()) kill();  // nothing of this attempt counts any more
  if (auto reason = shop_.inbox.stop())
    request_stop(*reason, *reason == model::EndReason::preempted ? "preempted" : "canceled");
}

// A process that waits for data of a server that is away can be killed only when it need not wait any longer.
void Supervisor::kill() {
  shop_.inputs.interrupt();
  guardian_->kill();
}

void Supervisor::request_stop(model::EndReason reason, std::string message) {
  const bool first = !stop_;
  // The server knows why better than a signal does: a provider that preempts sends one too.
  if (first || (stop_ == model::EndReason::canceled && reason == model::EndReason::preempted)) {
    stop_ = reason;
    stop_message_ = std::move(message);
  }
  // A script can look for the file where a signal does not reach it: behind a launcher, in a library that polls.
  if (stop_ == model::EndReason::preempted)
    if (auto told = shop_.run_folder.put_file(kPreemptionFile, "preempted\n"); !told)
      base::log::warn("the script is not told by file", {{"why", told.error().text()}});
  if (!first) return;
  guardian_->terminate();
  grace_->arm(std::max<base::Duration>(std::chrono::nanoseconds(1), std::chrono::seconds(shop_.order.grace_seconds)));
}

void Supervisor::on_life_tick() {
  if (!meter_) {
    meter_.emplace(guardian_->pid(), shop_.order.slice.gpus);
    life_->arm(UsageMeter::kPeriod, UsageMeter::kPeriod);
  }
  if (!watcher_)
    make_thread([&] { watcher_.emplace(shop_.make_link(), shop_.inbox, shop_.redactor, shop_.backoff); });
  if (!live_)
    make_thread([&] {
      live_.emplace(shop_.run_folder, live_folders_of(shop_.order), shop_.uploader, shop_.make_link(), shop_.inbox,
                    shop_.backoff);
    });
  if (!sync_thread_) make_thread([&] { sync_thread_.emplace(shop_.sync); });
  if (!metric_thread_ && !metrics_watch_) watch_for_metrics();
  meter_->sample();
}

// Not from the start: to close a watch takes milliseconds in the kernel, and what a short run has logged is sent with
// its end.
void Supervisor::watch_for_metrics() {
  metrics_watch_ = watch_metrics(shop_.metrics.folder());
  if (!metrics_watch_ || shop_.metrics.has_journals()) on_metrics();
}

// The first record, or no watch that could tell of one: from now on the thread looks for more.
void Supervisor::on_metrics() {
  make_thread([&] {
    metric_thread_.emplace(shop_.metrics, shop_.make_link(), std::move(metrics_watch_), shop_.inbox, shop_.backoff);
  });
}

model::ExitRecord Supervisor::make_record(const std::optional<sys::GuardianReport>& report) const {
  model::ExitRecord exit;
  exit.started = started_;
  exit.ended = sys::utc_now();
  if (meter_) exit.usage = meter_->usage();
  const int status = report ? report->wait_status : SIGKILL;
  if (report) {
    exit.usage.cpu_seconds = report->cpu_seconds;
    exit.usage.peak_memory_bytes = std::max(exit.usage.peak_memory_bytes, report->peak_process_bytes);
  }
  if (WIFEXITED(status)) exit.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) exit.signal = WTERMSIG(status);
  if (stop_) {
    exit.reason = *stop_;
    exit.message = stop_message_;
  } else if (status != 0 && group_ && group_->out_of_memory()) {
    exit.reason = model::EndReason::out_of_memory;
    exit.message = fmt::format("killed at the memory limit of {}",
                               base::human_bytes(static_cast<std::uint64_t>(shop_.order.slice.memory_bytes)));
  } else if (exit.signal != 0) {
    exit.reason = model::EndReason::signaled;
    exit.message = report ? describe_signal(exit.signal) : "killed together with its guardian";
  } else {
    exit.reason = model::EndReason::exited;
    if (exit.exit_code != 0) exit.message = fmt::format("exit code {}", exit.exit_code);
  }
  exit.unkillable = report ? report->unkillable : hung_;
  if (exit.unkillable > 0) exit.message += fmt::format("; {} processes hang in the kernel", exit.unkillable);
  return exit;
}

}  // namespace lathe::runner
