#include "runner/retry.h"

#include <poll.h>

#include <algorithm>

namespace lathe::runner {

bool is_temporary(const base::Error& error) {
  switch (error.code()) {
    case base::Code::unavailable:
    case base::Code::timeout:
    case base::Code::rate_limited:
    case base::Code::no_space:  // the server's disk: its operator makes room
    case base::Code::io:
    case base::Code::internal:
      return true;
    default:
      return false;
  }
}

bool ends_attempt(const base::Error& error) {
  using enum base::Code;
  return error.code() == fenced || error.code() == cancelled || error.code() == unauthorized ||
         error.code() == forbidden;
}

base::Duration Backoff::next() {
  const base::Duration whole = next_;
  next_ = std::min(limits_.most, next_ * 2);
  std::uniform_int_distribution<std::int64_t> half(0, whole.count() / 2);
  return whole - base::Duration(half(random_));
}

bool pause(base::Duration duration, int wake_fd) {
  pollfd wake{wake_fd, POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + duration;
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return true;
    if (::poll(&wake, 1, static_cast<int>(left.count())) > 0) return false;
  }
}

}  // namespace lathe::runner
