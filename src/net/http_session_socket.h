// Socket: a non-blocking socket on the home loop: its readiness and one deadline (Asio inside http_session_socket.cc).
// The reads and writes themselves are plain system calls of whoever owns it. Home thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/time.h"
#include "rt/loop.h"
#include "rt/task.h"

namespace lathe::net {

class Socket {
 public:
  // Takes over `fd`.
  Socket(rt::Loop& loop, int fd);
  // Nobody may be waiting.
  ~Socket();
  int fd() const;

  // True when ready (or broken: the next call tells), false when the socket was closed meanwhile.
  rt::Task<bool> readable();
  rt::Task<bool> writable();

  // Ends the connection and all waits for it.
  void close();
  bool is_closed() const;

  // close() when nobody moves or clears the deadline before. Its timer is lazy: moving the deadline later costs
  // nothing, and without a deadline it fires at most once more, so that an idle connection causes no wake-ups.
  void set_deadline(base::Duration from_now);
  // The same, but at the deadline `judge` is asked: it gives more time, or nothing, and then the connection ends. It
  // must not outlive what it captures: clear the deadline before.
  using Judge = std::function<std::optional<base::Duration>()>;
  void set_deadline(base::Duration from_now, Judge judge);
  void clear_deadline();
  bool timed_out() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace lathe::net
