// Keep-alive of TCP connections, for both ends: the kernel asks a silent peer whether it is still there, so that a
// connection to a machine that lost its power or its network ends by itself, also where nobody has anything to say.
#pragma once

#include "base/time.h"

namespace lathe::net {

// After this long without a sign of life a connection is over.
inline constexpr base::Duration kPeerPatience = std::chrono::seconds(90);
// How often a stream says something when there is nothing to tell. Followers give up after several silent periods.
inline constexpr base::Duration kHeartbeat = std::chrono::seconds(20);

// Best effort: a socket that is not TCP is left as it is.
void notice_dead_peer(int fd);

}  // namespace lathe::net
