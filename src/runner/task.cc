#include "runner/task.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "base/log.h"
#include "launch/launcher.h"
#include "runner/bare_folder.h"
#include "runner/container.h"
#include "runner/delivery.h"
#include "runner/environment.h"
#include "runner/output_folders.h"
#include "runner/run_box.h"
#include "runner/supervisor.h"
#include "sys/gpu.h"
#include "sys/process.h"
#include "sys/process_tree.h"
#include "wire/run.h"
#include "wire/script_token.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

// What a run's first process takes to kill the others, and a second more to save the end of the log.
constexpr std::chrono::milliseconds kDeathLimit = sys::kKillLimit + std::chrono::seconds(1);

// Long preparations listen to the server as well, from this point on.
constexpr base::Duration kLongPreparation = std::chrono::milliseconds(150);
constexpr base::Duration kShortagePause = std::chrono::milliseconds(500);

// The machine lacks processes, descriptors or memory; there may be some again a moment later.
bool is_shortage(const base::Error& error) { return error.code() == base::Code::unavailable; }

// Calls until the machine has what it takes. For what is made here, never for what is asked of a server.
template <class Make>
auto make_patiently(Make make) -> decltype(make()) {
  for (;;) {
    auto made = make();
    if (made || !is_shortage(made.error())) return made;
    pause(kShortagePause, -1);
  }
}

std::string with_hint(const base::Error& error) {
  return error.hint().empty() ? error.text() : fmt::format("{} (hint: {})", error.text(), error.hint());
}

model::ExitRecord record_of_failure(model::EndReason reason, const base::Error& error) {
  model::ExitRecord exit;
  exit.reason = reason;
  exit.message = with_hint(error);
  exit.started = exit.ended = sys::utc_now();
  return exit;
}

// What is made before the claim, while that costs nobody's time.
struct Kit {
  std::unique_ptr<LogRedactor> redactor;
  base::Result<std::unique_ptr<RunBox>> box;  // null: the run has none
};

// Until no process that hangs in the kernel is left below us.
void await_own_children() {
  while (::wait(nullptr) > 0 || errno == EINTR) {
  }
}

class Task {
 public:
  Task(const TaskOptions& options, const LinkFactory& make_link, Spool& spool, Inbox& inbox, int signals, Kit kit)
      : options_(options),
        make_link_(make_link),
        spool_(spool),
        inbox_(inbox),
        signals_(signals),
        link_(make_link()),
        redactor_(std::move(kit.redactor)),
        box_(std::move(kit.box)) {}

  base::Result<void> run() {
    auto claimed = retry(options_.backoff, signals_, [&] { return link_->claim(); });
    if (!claimed) {
      spool_.remove();  // nothing was started, nothing is to be told
      return base::fail(std::move(claimed).error());
    }
    order_ = std::move(*claimed);
    claimed_at_ = sys::boot_time();
    inputs_.emplace(order_, Inputs::Places{spool_.data_folder(), spool_.run_folder()}, make_link_, options_.backoff);
    environment_.emplace(order_, make_link_, spool_.data_folder() / "wheels", build_log());
    choose_namespace();
    auto program = prepare();
    LogSpool log(spool_.folder(), static_cast<std::uint64_t>(order_.segment_bytes), redactor_.get());
    SegmentSync segments;
    SpoolSync sync(spool_, log, segments);
    LogShipper shipper(log, order_.log_name, segments);
    MetricShipper metrics(spool_.metrics_folder());
    LATHE_TRY(RunFolder folder, make_patiently([&] { return RunFolder::open(spool_.run_folder()); }));
    ArtifactUploader uploader(folder);
    model::ExitRecord exit = program ? supervise(*program, {log, shipper, metrics, sync, folder, uploader})
                                     : record_of_refusal(program.error());
    if (container_) container_->remove();
    inputs_->end();
    if (inbox_.fenced()) {
      spool_.remove();
      return base::fail(base::Code::fenced, "the attempt is over");
    }
    record(exit, log, sync);
    Parcel parcel{spool_,  log,       shipper,   metrics, order_.log_name,
                  &folder, &uploader, kept_folders_of(order_), exit, &sync};
    if (exit.unkillable > 0) parcel.before_removal = [this] { await_hung(); };
    return deliver(*link_, parcel, options_.backoff, signals_);
  }

 private:
  // Before there is a second thread. A container engine makes its own boxes: what it needs is mounted where we are.
  void choose_namespace() {
    uses_engine_ = order_.lock && !image_of(order_).empty();
    if (uses_engine_) return leave_box();
    if (box_ && *box_) return inputs_->use((*box_)->box());
    inputs_->enter_namespace(environment_->wants_namespace());
  }

  // podman without root maps users itself, which it cannot do where only one is mapped: nothing is mounted for it.
  void leave_box() {
    uses_engine_ = true;
    if (box_ && *box_) (*box_)->end();
    if (::geteuid() == 0) inputs_->enter_namespace(true);
  }

  // In which the program runs; null: in none.
  base::Result<sys::Box*> choose_box() {
    if (!*box_ || (uses_engine_ && ::geteuid() != 0)) return nullptr;
    if (!uses_engine_) return &(*box_)->box();
    LATHE_TRY(engine_box_, (*box_)->start_engine_box(container_->shown(spool_), spool_.lock_fd()));
    return engine_box_.get();
  }

  // The slot is ours, and so is the folder, as long as a process of the run is there.
  void await_hung() {
    await_own_children();
    sys::Cgroup::end_tree(task_label(spool_.header()), sys::kKillLimit);
  }

  base::Result<void> make_run_folder() {
    for (const auto& name : kept_folders())
      if (::mkdir((spool_.run_folder() / name).c_str(), 0755) != 0 && errno != EEXIST)
        return base::fail(base::errno_error(errno, fmt::format("making the folder {}", name)));
    return {};
  }

  // Why the program was not even started.
  model::ExitRecord record_of_refusal(const base::Error& error) {
    if (error.code() != base::Code::cancelled)
      return record_of_failure(prepared_ ? model::EndReason::start_failed : model::EndReason::prepare_failed, error);
    sys::take_signals(signals_);  // obeyed; a further one may break off the delivery
    return record_of_failure(inbox_.stop().value_or(model::EndReason::canceled),
                             base::Error(base::Code::cancelled, "stopped before its start"));
  }

  // What is shipped, and by whom.
  struct Cargo {
    LogSpool& log;
    LogShipper& shipper;
    MetricShipper& metrics;
    SpoolSync& sync;
    const RunFolder& folder;
    ArtifactUploader& uploader;
  };

  model::ExitRecord supervise(const sys::SpawnRequest& program, const Cargo& cargo) {
    for (;;) {
      auto box = choose_box();
      if (!box) return record_of_failure(model::EndReason::start_failed, box.error());
      Supervisor supervisor({order_, cargo.log, *redactor_, cargo.shipper, *link_, make_link_, cargo.folder,
                             cargo.uploader, cargo.metrics, cargo.sync, *inputs_, inbox_, signals_, spool_.lock_fd(), *box,
                             task_label(spool_.header()), container_ ? std::string() : spool_.slot(), deadline(),
                             options_.backoff});
      auto exit = supervisor.run(program);
      if (!exit && is_shortage(exit.error())) {
        if (wait_for_the_machine(exit.error())) continue;
        return record_of_refusal(base::Error(base::Code::cancelled, "stopped while its node was short of something"));
      }
      if (!exit) return record_of_failure(model::EndReason::start_failed, exit.error());
      if (container_) container_->explain(*exit, order_);
      // The exit is on disk before the supervisor waits for its helper threads, which may be talking to a server that
      // is away.
      record(*exit, cargo.log, cargo.sync);
      return *exit;
    }
  }

  // Nothing of the program has run, for want of a process, a descriptor or memory: a reason to wait, not to fail. False
  // when the run was asked to stop meanwhile.
  bool wait_for_the_machine(const base::Error& error) {
    if (!std::exchange(has_waited_, true)) {
      base::log::warn("the program cannot be started now", {{"why", error.text()}});
      const std::vector<std::string> notes{"waited because its node was short of something: " + error.text()};
      if (!link_->add_notes(notes)) base::log::warn("notes were not taken");
    }
    std::optional<Watcher> watcher;
    try {
      watcher.emplace(make_link_(), inbox_, *redactor_, options_.backoff);
    } catch (const std::system_error&) {
      // No thread to listen with, either: perhaps in the next round.
    }
    return pause(kShortagePause, signals_) && !inbox_.stop() && !inbox_.fenced();
  }

  base::Result<sys::SpawnRequest> prepare() {
    LATHE_TRY_VOID(spool_.write_order(order_));  // before anything is started: an adopter goes by it
    if (!box_) return base::fail(box_.error());
    if (order_.snapshot) LATHE_TRY_VOID(deliver_snapshot());
    LATHE_TRY_VOID(make_run_folder());
    if (order_.lock) LATHE_TRY_VOID(deliver_environment());
    LATHE_TRY(launch::Variables paths, deliver_data());
    prepared_ = true;
    if (!order_.lock) {
      LATHE_TRY(realised_, environment_->deliver({}));
    }
    envs::Realised realised = std::move(realised_);
    for (auto& [name, value] : paths) realised.variables[name] = std::move(value);
    realised.variables["LATHE_PREEMPTION_FILE"] = spool_.run_folder() / kPreemptionFile;
    launch::LaunchInput input{
        .command = order_.command,
        .interpreter = realised.interpreter,
        .inherited = *box_ ? (*box_)->inherited() : launch::inherited_environment(),
        .environment = std::move(realised.variables),
        .identity = {order_.run.value, order_.experiment, order_.workspace, order_.subscription_id,
                     order_.resource_group, options_.url, wire::script_token(options_.header.token),
                     order_.token_expiry ? fmt::format("{}", order_.token_expiry->micros / 1'000'000) : std::string(),
                     spool_.metrics_folder()},
        .slice = order_.slice,
        .machine_has_gpu = sys::machine_may_have_gpu(),
        .directory = spool_.run_folder(),
        .in_container = !realised.image.empty()};
    LATHE_TRY(launch::ProcessSpec spec, launch::PlainLauncher().prepare(input));
    if (*box_) LATHE_TRY_VOID((*box_)->give_folders());
    if (*box_ && !uses_engine_) LATHE_TRY_VOID((*box_)->show_programs(input.interpreter, spec.environment));
    if (input.in_container) {
      LATHE_TRY(auto container, Container::of(spool_.header(), order_.realise.engine));
      container_.emplace(std::move(container));
      spec = container_->wrap(spec, realised, spool_, order_, box_->get());
    }
    sys::SpawnRequest program;
    program.argv = std::move(spec.argv);
    program.environment = launch::to_environment(spec.environment);
    program.directory = std::move(spec.directory);
    return program;
  }

  // Calls `work` until it succeeds or fails for good; it gets a function to ask between its pieces, whose error ends
  // it.
  template <class Work>
  base::Result<void> prepare_patiently(Work work) {
    std::optional<Watcher> watcher;
    std::function<base::Result<void>()> keep_going = [&]() -> base::Result<void> {
      if (!watcher && sys::boot_time() - claimed_at_ > kLongPreparation)
        watcher.emplace(make_link_(), inbox_, *redactor_, options_.backoff);
      if (inbox_.stop() || inbox_.fenced() || !pause(std::chrono::nanoseconds(1), signals_))
        return base::fail(base::Code::cancelled, "stopped while its files were delivered");
      return {};
    };
    return retry(options_.backoff, signals_, [&]() -> base::Result<void> {
      LATHE_TRY_VOID(keep_going());
      return work(keep_going);
    });
  }

  base::Result<void> deliver_snapshot() {
    return prepare_patiently([&](const auto& keep_going) -> base::Result<void> {
      LATHE_TRY_VOID(empty_run_folder());
      return options_.deliver_snapshot(*link_, *order_.snapshot, spool_.run_folder(), keep_going);
    });
  }

  base::Result<void> deliver_environment() {
    LATHE_TRY_VOID(prepare_patiently([&](const auto& keep_going) -> base::Result<void> {
      LATHE_TRY(realised_, environment_->deliver(keep_going));
      return {};
    }));
    if (!realised_.image.empty() && !uses_engine_) leave_box();  // built only now
    LATHE_TRY_VOID(environment_->protect(realised_, inputs_->mounts(), inputs_->why_no_namespace()));
    if (!environment_->notes().empty() && !link_->add_notes(environment_->notes()))
      base::log::warn("notes were not taken");
    return {};
  }

  // Of a build on this node; it is uploaded with the run's logs.
  fs::path build_log() const {
    return spool_.run_folder() / "logs" / fmt::format("environment_build_{}.txt", order_.node);
  }

  // The variables that hold the paths of inputs and outputs.
  base::Result<launch::Variables> deliver_data() {
    LATHE_TRY(launch::Variables out, make_output_folders(order_, spool_.run_folder()));
    if (order_.inputs.empty()) return out;
    LATHE_TRY_VOID(prepare_patiently(
        [&](const auto& keep_going) { return inputs_->deliver(*link_, options_.deliver_snapshot, keep_going); }));
    // The run goes on without its notes rather than without its data.
    if (!inputs_->notes().empty() && !link_->add_notes(inputs_->notes())) base::log::warn("notes were not taken");
    out.insert(inputs_->variables().begin(), inputs_->variables().end());
    return out;
  }

  // Of what an earlier try, broken off by a server that went away, left in it.
  base::Result<void> empty_run_folder() {
    std::error_code failed;
    for (fs::directory_iterator entry(spool_.run_folder(), failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed))
      fs::remove_all(entry->path(), failed);
    if (failed) return base::fail(base::errno_error(failed.value(), "emptying the run folder"));
    return {};
  }

  base::Duration deadline() const {
    if (order_.max_run_duration_seconds <= 0) return base::Duration::max();
    return claimed_at_ + std::chrono::seconds(order_.max_run_duration_seconds);
  }

  // A draft at once, for an adopter; the record when what it vouches for is on disk. A disk that refuses any of it must
  // not keep the end of the run from the server.
  void record(const model::ExitRecord& exit, LogSpool& log, SpoolSync& sync) {
    if (recorded_) return;
    recorded_ = true;
    auto written = spool_.draft_exit(exit);
    if (log.owes_marker()) spool_.release_reserve();
    log.close();
    if (written) written = sync.sync_results(kept_folders_of(order_));
    if (written) written = spool_.write_exit(exit);
    if (!written) base::log::error("exit record not written", {{"error", written.error().text()}});
  }

  const TaskOptions& options_;
  const LinkFactory& make_link_;
  Spool& spool_;
  Inbox& inbox_;
  const int signals_;
  std::unique_ptr<ServerLink> link_;
  Order order_;
  std::unique_ptr<LogRedactor> redactor_;
  base::Result<std::unique_ptr<RunBox>> box_;
  std::unique_ptr<sys::Box> engine_box_;
  bool uses_engine_ = false;
  std::optional<Inputs> inputs_;  // after the order, which it looks at
  std::optional<Environment> environment_;
  envs::Realised realised_;
  std::optional<Container> container_;
  base::Duration claimed_at_{};
  bool prepared_ = false, recorded_ = false, has_waited_ = false;
};

// The order of a spool whose own is torn or gone although something ran: a claim may be repeated, and gives it again.
// Where the server refuses, what all orders have in common must do: nothing that is whole on disk is thrown away.
base::Result<Order> ask_for_order(const Spool& spool, ServerLink& link, BackoffLimits backoff, int wake_fd) {
  auto claimed = retry(backoff, wake_fd, [&] { return link.claim(); });
  if (claimed || ends_attempt(claimed.error())) return claimed;
  base::log::warn("no order; what is there is delivered without it", {{"why", claimed.error().text()}});
  Order order;
  order.log_name = wire::main_log_name(1, spool.header().node);
  return order;
}

}  // namespace

namespace {

// Waits until no process is left of a run whose runner is dead; how many hang in the kernel.
int await_end_of_run(const SpoolHeader& header, std::chrono::milliseconds limit) {
  int hung = 0;
  if (const sys::Fd first = header.box ? sys::open_process(*header.box) : sys::Fd()) {
    // It kills the others by itself, unless somebody stopped it.
    pollfd wait{first.get(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(limit.count())) == 0) {
      ::syscall(SYS_pidfd_send_signal, first.get(), SIGKILL, nullptr, 0);
      if (::poll(&wait, 1, static_cast<int>(limit.count())) == 0)
        hung = std::max(1, static_cast<int>(sys::descendants(header.box->pid).size()));
    }
  }
  return std::max(hung, sys::Cgroup::end_tree(task_label(header), limit));
}

}  // namespace

base::Result<void> run_task(const TaskOptions& options, const LinkFactory& make_link) {
  LATHE_TRY(sys::Fd signals, make_patiently([] { return sys::block_signals({SIGTERM, SIGINT, SIGHUP}); }));
  LATHE_TRY_VOID(sys::become_subreaper());
  LATHE_TRY(auto inbox, make_patiently(Inbox::create));
  LATHE_TRY(auto redactor, make_patiently(LogRedactor::create));
  Kit kit{std::move(redactor), std::unique_ptr<RunBox>()};
  SpoolHeader header = options.header;
  if (options.box) {
    LATHE_TRY_VOID(Spool::make_folders(options.work));
    kit.box = make_patiently([&] { return RunBox::start(*options.box, options.work, *kit.redactor); });
    // In the spool before it is told to start anything: an adopter waits for it.
    if (kit.box) header.box = (*kit.box)->name();
  }
  LATHE_TRY(Spool spool, Spool::create(options.work, std::move(header)));
  return Task(options, make_link, spool, *inbox, signals.get(), std::move(kit)).run();
}

base::Result<void> adopt_spool(const AdoptOptions& options,
                               const std::function<std::unique_ptr<ServerLink>(const SpoolHeader&)>& make_link) {
  LATHE_TRY(sys::Fd signals, sys::block_signals({SIGTERM, SIGINT, SIGHUP}));
  LATHE_TRY(Spool spool, Spool::adopt(options.spool, options.patience));
  const int hung = await_end_of_run(spool.header(), kDeathLimit);
  auto await_hung = [&] {
    while (await_end_of_run(spool.header(), kDeathLimit) > 0) {
    }
  };
  if (spool.is_delivered()) {
    if (hung > 0) await_hung();
    spool.remove();
    return {};
  }
  auto link = make_link(spool.header());
  LATHE_TRY(auto order, spool.read_order());
  if (!order && spool.has_traces()) {
    auto asked = ask_for_order(spool, *link, options.backoff, signals.get());
    if (!asked && asked.error().code() == base::Code::fenced) spool.remove();
    if (!asked) return base::fail(std::move(asked).error());
    order = std::move(*asked);
  }
  LATHE_TRY(auto exit, spool.read_exit());
  if (!exit) {
    exit =
        record_of_failure(model::EndReason::node_lost, base::Error(base::Code::unavailable, "the runner was killed"));
    exit->unkillable = hung;
    if (hung > 0) exit->message += fmt::format("; {} processes hang in the kernel", hung);
    LATHE_TRY_VOID(spool.write_exit(*exit));
  }
  if (order && !image_of(*order).empty())
    if (auto container = Container::of(spool.header(), order->realise.engine)) container->remove();
  LogSpool log(spool.folder(), static_cast<std::uint64_t>(order.value_or(Order()).segment_bytes));
  SegmentSync segments;
  LogShipper shipper(log, order ? order->log_name : "", segments, LogShipper::Way::send);
  auto folder = RunFolder::open(spool.run_folder());
  std::optional<ArtifactUploader> uploader;
  if (folder) uploader.emplace(*folder);
  if (order) {
    auto stand = retry(options.backoff, signals.get(), [&] { return link->log_stand(order->log_name); });
    if (!stand && stand.error().code() == base::Code::fenced) {
      if (hung > 0) await_hung();
      spool.remove();
    }
    if (!stand) return base::fail(std::move(stand).error());
    LATHE_TRY_VOID(log.reopen(stand->segment));
    shipper.resume_at(*stand);
  }
  const std::string log_name = order ? order->log_name : "";
  MetricShipper metrics(spool.metrics_folder());
  Parcel parcel{spool,
                log,
                shipper,
                metrics,
                log_name,
                folder && order ? &*folder : nullptr,
                uploader ? &*uploader : nullptr,
                kept_folders_of(order.value_or(Order())),
                *exit,
                nullptr};
  if (hung > 0) parcel.before_removal = await_hung;
  return deliver(*link, parcel, options.backoff, signals.get());
}

}  // namespace lathe::runner
