#include "net/keep_alive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace lathe::net {

void notice_dead_peer(int fd) {
  // The first question after a third of the patience, four more in the rest.
  const int seconds = static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(kPeerPatience).count());
  const int on = 1, idle = seconds / 3, interval = (seconds - idle) / 4, count = 4;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  // Bytes that nobody acknowledges suspend keep-alive; this bounds their wait, too.
  const unsigned milliseconds = static_cast<unsigned>(seconds) * 1000;
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

}  // namespace lathe::net
