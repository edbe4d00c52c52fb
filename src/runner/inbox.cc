#include "runner/inbox.h"

#include <sys/eventfd.h>

#include <cerrno>

namespace lathe::runner {

base::Result<std::unique_ptr<Inbox>> Inbox::create() {
  sys::Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return base::fail(base::errno_error(errno, "making an event descriptor"));
  return std::unique_ptr<Inbox>(new Inbox(std::move(event)));
}

void Inbox::wake() { ::eventfd_write(event_.get(), 1); }

void Inbox::post_stop(model::EndReason reason) {
  {
    std::lock_guard lock(mutex_);
    if (!stop_) stop_ = reason;
  }
  wake();
}

void Inbox::post_fenced() {
  {
    std::lock_guard lock(mutex_);
    fenced_ = true;
  }
  wake();
}

void Inbox::acknowledge() {
  eventfd_t count = 0;
  ::eventfd_read(event_.get(), &count);
}

std::optional<model::EndReason> Inbox::stop() const {
  std::lock_guard lock(mutex_);
  return stop_;
}

bool Inbox::fenced() const {
  std::lock_guard lock(mutex_);
  return fenced_;
}

}  // namespace lathe::runner
