// Messages with descriptors between two processes of ours, over a SOCK_SEQPACKET pair: each arrives whole or not at all.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sys/fd.h"

namespace lathe::sys {

inline constexpr std::size_t kMostDescriptors = 16;  // with one message

struct SocketMessage {
  std::string bytes;
  std::vector<Fd> descriptors;
};

struct SocketPair {
  Fd ours, theirs;
};
base::Result<SocketPair> make_socket_pair();

base::Result<void> send_message(int socket, std::string_view bytes, std::span<const int> descriptors = {});
// Waits for one of at most `room` bytes. Nothing: the other end is closed.
std::optional<SocketMessage> receive_message(int socket, std::size_t room);

}  // namespace lathe::sys
