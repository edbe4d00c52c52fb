#include "sys/socket_message.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace lathe::sys {
namespace {

union DescriptorRoom {
  char bytes[CMSG_SPACE(sizeof(int) * kMostDescriptors)];
  cmsghdr head;
};

void attach(msghdr& message, DescriptorRoom& room, std::span<const int> descriptors) {
  message.msg_control = room.bytes;
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
}

std::vector<Fd> detach(msghdr& message) {
  std::vector<Fd> out;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (!head || head->cmsg_type != SCM_RIGHTS) return out;
  const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
    out.emplace_back(fd);
  }
  return out;
}

}  // namespace

base::Result<SocketPair> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return base::fail(base::errno_error(errno, "making a socket pair"));
  return SocketPair{Fd(ends[0]), Fd(ends[1])};
}

base::Result<void> send_message(int socket, std::string_view bytes, std::span<const int> descriptors) {
  if (descriptors.size() > kMostDescriptors)
    return base::fail(base::Code::too_large, "{} descriptors for one message", descriptors.size());
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  DescriptorRoom room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) attach(message, room, descriptors);
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return base::fail(base::errno_error(errno, "sending a message to a process of ours"));
  return {};
}

std::optional<SocketMessage> receive_message(int socket, std::size_t room) {
  SocketMessage out;
  out.bytes.resize(room);
  iovec part{out.bytes.data(), out.bytes.size()};
  DescriptorRoom descriptors{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = descriptors.bytes;
  message.msg_controllen = sizeof descriptors.bytes;
  ssize_t n = 0;
  do n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return std::nullopt;
  out.bytes.resize(static_cast<std::size_t>(n));
  out.descriptors = detach(message);
  return out;
}

}  // namespace lathe::sys
