#include "rt/loop.h"

#include <fcntl.h>
#include <signal.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/error.h"
#include "rt/await_callback.h"

namespace lathe::rt {

namespace asio = boost::asio;
using boost::system::error_code;

struct Loop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  // Made at the first signal() and kept: between two waits a signal must be queued, not kill the process.
  std::optional<asio::signal_set> signals;
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

void Loop::post(std::move_only_function<void()> work) { asio::post(impl_->context, std::move(work)); }

void Loop::run() {
  impl_->context.run();
  impl_->context.restart();
  impl_->context.poll();
}

void Loop::stop() {
  asio::post(impl_->context, [this] { impl_->context.stop(); });
}

Task<void> Loop::turn() {
  co_await await_callback<>([&](auto done) { post(std::move(done)); });
}

Task<void> Loop::sleep(base::Duration duration, CancelToken cancel) {
  cancel.check();
  asio::steady_timer timer(impl_->context, duration);
  CancelSubscription on_cancel(cancel, [&] { timer.cancel(); });
  co_await await_callback<error_code>([&](auto done) { timer.async_wait(std::move(done)); });
  cancel.check();
}

Task<void> Loop::readable(int fd, CancelToken cancel) {
  cancel.check();
  // A duplicate: two waiters of one descriptor can be in the poll set, and closing ours leaves the caller's open.
  const int duplicate = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) throw base::errno_error(errno, "watching a descriptor");
  asio::posix::stream_descriptor descriptor(impl_->context, duplicate);
  CancelSubscription on_cancel(cancel, [&] { descriptor.cancel(); });
  auto [error] = co_await await_callback<error_code>(
      [&](auto done) { descriptor.async_wait(asio::posix::descriptor_base::wait_read, std::move(done)); });
  cancel.check();
  if (error) throw base::Error(base::Code::io, "watching a descriptor: " + error.message());
}

Task<int> Loop::signal(CancelToken cancel) {
  cancel.check();
  if (!impl_->signals) impl_->signals.emplace(impl_->context, SIGTERM, SIGINT, SIGHUP);
  asio::cancellation_signal stop_waiting;
  CancelSubscription on_cancel(cancel, [&] { stop_waiting.emit(asio::cancellation_type::terminal); });
  auto [error, number] = co_await await_callback<error_code, int>([&](auto done) {
    impl_->signals->async_wait(asio::bind_cancellation_slot(stop_waiting.slot(), std::move(done)));
  });
  cancel.check();
  if (error) throw base::Error(base::Code::io, "waiting for a signal: " + error.message());
  co_return number;
}

void* Loop::context() { return &impl_->context; }

struct Timer::Impl {
  asio::steady_timer timer;
  std::function<void()> callback;
};

Timer::Timer(Loop& loop, base::Duration after, std::function<void()> callback)
    : impl_(new Impl{asio::steady_timer(*static_cast<asio::io_context*>(loop.context()), after), std::move(callback)}) {
  // A handler that is queued already when the timer goes must not find it.
  impl_->timer.async_wait([weak = std::weak_ptr(impl_)](error_code error) {
    const auto self = weak.lock();
    if (!error && self) self->callback();
  });
}
Timer::~Timer() = default;

}  // namespace lathe::rt
