#include "runner/delivery.h"

#include "base/log.h"
#include "base/strings.h"

namespace lathe::runner {
namespace {

// A file that was fine when it was listed may be gone or changed when it is sent, as long as somebody writes; at the
// end nobody does, so a second look settles it.
constexpr int kLooks = 3;

class Delivery {
 public:
  Delivery(ServerLink& link, const Parcel& parcel, BackoffLimits backoff, int wake_fd)
      : link_(link), parcel_(parcel), backoff_(backoff), wake_fd_(wake_fd) {}

  // Outputs first: after a preemption the checkpoint is what counts, and the machine may be wanted back.
  base::Result<void> run() {
    if (was_stopped()) LATHE_TRY_VOID(say_processes_are_gone());
    LATHE_TRY_VOID(upload_outputs());
    LATHE_TRY_VOID(ship_metrics());
    LATHE_TRY_VOID(ship_log());
    return finish();
  }

 private:
  template <class Call>
  auto persist(Call call) -> decltype(call()) {
    return retry(backoff_, wake_fd_, [&] {
      auto result = call();
      // Nobody knows how long the server stays away.
      if (!result && parcel_.sync) parcel_.sync->sync();
      return result;
    });
  }

  bool was_stopped() const {
    using enum model::EndReason;
    const auto reason = parcel_.exit.reason;
    return reason == canceled || reason == preempted || reason == timed_out;
  }

  // A server that waits for a run to stop ends its runner by force when the grace is over, unless it knows that nothing
  // is left but this delivery. Most runs were never asked to stop and have little to deliver: they save the request.
  base::Result<void> say_processes_are_gone() {
    if (is_said_) return {};
    LATHE_TRY_VOID(persist([&] { return link_.report_finalizing(parcel_.exit); }));
    is_said_ = true;
    return {};
  }

  // A server that has lost a part of the log with its power says so, and gets it again. One that says it for ever gets
  // the end without the totals: a run must end.
  base::Result<void> finish() {
    FinishReport report{parcel_.exit, parcel_.log_name, parcel_.log.totals()};
    for (int look = 0;; ++look) {
      auto finished = persist([&] { return link_.finish(report); });
      if (finished || finished.error().code() != base::Code::conflict || look > kLooks) return finished;
      if (look == kLooks) report.log = {};
      LATHE_TRY_VOID(persist([&] { return parcel_.shipper.resume(link_); }));
      LATHE_TRY_VOID(ship_log());
    }
  }

  base::Result<void> ship_metrics() {
    LATHE_TRY_VOID(persist([&] { return parcel_.metrics.ship(link_); }));
    for (const auto& line : parcel_.metrics.problems())
      parcel_.log.add_line(fmt::format("[lathe: metrics not kept: {}]", base::printable(line, 4096)));
    return {};
  }

  base::Result<void> upload_outputs() {
    if (!parcel_.run_folder) return {};
    Listing all;
    for (const auto& top : parcel_.kept_folders) {
      Listing listing = parcel_.run_folder->list(top);
      all.files.insert(all.files.end(), listing.files.begin(), listing.files.end());
      all.skipped.insert(all.skipped.end(), listing.skipped.begin(), listing.skipped.end());
    }
    auto changed = parcel_.uploader->changed(all.files);
    if (!changed.empty()) {
      LATHE_TRY_VOID(say_processes_are_gone());
      for (int look = 0; look < kLooks && !changed.empty(); ++look)
        LATHE_TRY_VOID(upload_once(changed, look, all.skipped));
    }
    for (const auto& line : all.skipped)
      parcel_.log.add_line(fmt::format("[lathe: not kept: {}]", base::printable(line, 4096)));
    return {};
  }

  base::Result<void> upload_once(std::vector<std::string>& changed, int look, std::vector<std::string>& skipped) {
    std::vector<std::string> problems;
    auto uploaded = persist([&] {
      problems.clear();
      return parcel_.uploader->upload(link_, changed, problems);
    });
    if (!uploaded && ends_attempt(uploaded.error())) return uploaded;
    if (!uploaded) problems.push_back(uploaded.error().text());  // refused for good: the run still ends, and says so
    changed = parcel_.uploader->changed(changed);
    if (changed.empty() || problems.empty() || !uploaded || look + 1 == kLooks) {
      skipped.insert(skipped.end(), problems.begin(), problems.end());
      changed.clear();
    }
    return {};
  }

  base::Result<void> ship_log() {
    parcel_.log.hand_over();
    while (parcel_.shipper.has_more(true)) {
      LATHE_TRY_VOID(persist([&] { return parcel_.shipper.ship(link_, true); }));
      // A long log: it may be asked to stop before all of it is sent.
      if (parcel_.shipper.has_more(true)) LATHE_TRY_VOID(say_processes_are_gone());
    }
    return {};
  }

  ServerLink& link_;
  const Parcel& parcel_;
  const BackoffLimits backoff_;
  const int wake_fd_;
  bool is_said_ = false;
};

}  // namespace

base::Result<void> deliver(ServerLink& link, const Parcel& parcel, BackoffLimits backoff, int wake_fd) {
  auto delivered = Delivery(link, parcel, backoff, wake_fd).run();
  if (!delivered && delivered.error().code() != base::Code::fenced) return delivered;
  if (auto marked = parcel.spool.mark_delivered(); !marked)
    base::log::warn("spool not marked", {{"error", marked.error().text()}});
  if (parcel.before_removal) parcel.before_removal();
  parcel.spool.remove();
  return delivered;
}

}  // namespace lathe::runner
