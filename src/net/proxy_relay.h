// Bytes between two sockets, both ways, until both sides are done. Blocking, but never on one side alone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace lathe::net {

// Waits until `fd` can be read (POLLIN) or written (POLLOUT). False when the patience is over or `stop` can be read.
bool wait_for_socket(int fd, short events, int stop, std::chrono::milliseconds patience);
// All of it, or false.
bool send_all(int fd, std::string_view bytes, int stop, std::chrono::milliseconds patience);

struct RelayLimits {
  std::chrono::milliseconds idle;
  std::atomic<std::uint64_t>& bytes_left;  // of all relays together; none left ends it
};
// The sockets do not block. Ends when both sides have ended, one is broken, nothing moved for `idle`, or `stop` can be
// read. A side that has said all it will is passed on as such.
void relay(int left, int right, int stop, RelayLimits limits);

}  // namespace lathe::net
