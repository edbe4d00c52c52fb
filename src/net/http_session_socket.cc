#include "net/http_session_socket.h"

#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "rt/await_callback.h"

namespace lathe::net {

namespace asio = boost::asio;
using asio::posix::descriptor_base;
using boost::system::error_code;
using TimePoint = asio::steady_timer::time_point;

struct Socket::Impl : std::enable_shared_from_this<Impl> {
  Impl(asio::io_context& context, int fd) : descriptor(context, fd), timer(context) {}

  asio::posix::stream_descriptor descriptor;
  asio::steady_timer timer;
  std::optional<TimePoint> deadline;
  std::optional<TimePoint> armed;
  Socket::Judge judge;
  bool closed = false, timed_out = false;

  rt::Task<bool> wait(descriptor_base::wait_type what) {
    if (closed) co_return false;
    co_await rt::await_callback<error_code>([&](auto done) { descriptor.async_wait(what, std::move(done)); });
    co_return !closed;
  }

  void close() {
    if (std::exchange(closed, true)) return;
    ::shutdown(descriptor.native_handle(), SHUT_RDWR);
    error_code ignored;
    (void)descriptor.cancel(ignored);  // it fails where nothing waits
  }

  void arm(TimePoint when) {
    armed = when;
    timer.expires_at(when);
    // A fired handler may be queued when the socket goes: it must not keep it, nor touch it.
    timer.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (!error && self) self->on_timer();
    });
  }

  void on_timer() {
    armed.reset();
    if (!deadline || closed) return;
    if (asio::steady_timer::clock_type::now() < *deadline) return arm(*deadline);
    if (const auto more = judge ? judge() : std::nullopt) {
      deadline = asio::steady_timer::clock_type::now() + *more;
      return arm(*deadline);
    }
    timed_out = true;
    close();
  }
};

Socket::Socket(rt::Loop& loop, int fd)
    : impl_(std::make_shared<Impl>(*static_cast<asio::io_context*>(loop.context()), fd)) {}
Socket::~Socket() = default;

int Socket::fd() const { return impl_->descriptor.native_handle(); }
rt::Task<bool> Socket::readable() { return impl_->wait(descriptor_base::wait_read); }
rt::Task<bool> Socket::writable() { return impl_->wait(descriptor_base::wait_write); }
void Socket::close() { impl_->close(); }
bool Socket::is_closed() const { return impl_->closed; }
bool Socket::timed_out() const { return impl_->timed_out; }
void Socket::clear_deadline() {
  impl_->deadline.reset();
  impl_->judge = nullptr;
}

void Socket::set_deadline(base::Duration from_now) { set_deadline(from_now, nullptr); }

void Socket::set_deadline(base::Duration from_now, Judge judge) {
  impl_->judge = std::move(judge);
  const auto when = asio::steady_timer::clock_type::now() + from_now;
  impl_->deadline = when;
  if (!impl_->armed || when < *impl_->armed) impl_->arm(when);
}

}  // namespace lathe::net
