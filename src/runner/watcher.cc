#include "runner/watcher.h"

#include <sys/eventfd.h>

namespace lathe::runner {

Watcher::Watcher(std::unique_ptr<ServerLink> link, Inbox& inbox, LogRedactor& redactor, BackoffLimits limits)
    : link_(std::move(link)),
      inbox_(inbox),
      redactor_(redactor),
      backoff_(limits),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

void Watcher::stop() {
  if (!thread_.joinable()) return;
  ::eventfd_write(stop_event_.get(), 1);
  link_->interrupt();
  thread_.join();
}

// The server gives a secret to the script when this node has said that it is hidden.
base::Result<void> Watcher::learn_secrets() {
  for (;;) {
    LATHE_TRY(const auto fresh, link_->exchange_secrets(redactor_.ids()));
    if (fresh.empty()) return {};
    for (const auto& secret : fresh) LATHE_TRY_VOID(redactor_.add(secret.id, secret.value));
  }
}

void Watcher::run() {
  for (;;) {
    bool secrets = false;
    auto ended = link_->watch([&](const Wish& wish) {
      backoff_.reset();
      if (wish.stop) inbox_.post_stop(*wish.stop);
      secrets = wish.secrets;
      return !wish.stop && !wish.secrets;
    });
    if (inbox_.stop()) return;  // it is said once; the rest is the main thread's
    if (secrets) ended = learn_secrets();
    if (!ended && ended.error().code() == base::Code::cancelled) return;
    if (!ended && ended.error().code() == base::Code::fenced) return inbox_.post_fenced();
    if (secrets && ended) continue;
    if (!pause(backoff_.next(), stop_event_.get())) return;
  }
}

}  // namespace lathe::runner
