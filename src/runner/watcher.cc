#include "runner/watcher.h"

#include <sys/eventfd.h>

namespace lathe::runner {

Watcher::Watcher(std::unique_ptr<ServerLink> link, Inbox& inbox, BackoffLimits limits)
    : link_(std::move(link)),
      inbox_(inbox),
      backoff_(limits),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

void Watcher::stop() {
  if (!thread_.joinable()) return;
  ::eventfd_write(stop_event_.get(), 1);
  link_->interrupt();
  thread_.join();
}

void Watcher::run() {
  do {
    auto ended = link_->watch([&](Desired desired) {
      backoff_.reset();
      if (desired) inbox_.post_stop(*desired);
      return !desired;
    });
    if (inbox_.stop()) return;  // it is said once; the rest is the main thread's
    if (!ended && ended.error().code() == base::Code::cancelled) return;
    if (!ended && ended.error().code() == base::Code::fenced) return inbox_.post_fenced();
  } while (pause(backoff_.next(), stop_event_.get()));
}

}  // namespace lathe::runner
