// LogShipper: brings the log of the spool to the server, in order, from wherever the server stands. ship() sends one
// piece; ShipperThread does so live while the script runs, with at most one request under way. On the server's machine
// it tells the server to link a segment instead, as long as no sync of the log has failed (SegmentSync): bytes that the
// disk may have dropped are sent, and the server writes them to a file of its own.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"
#include "runner/inbox.h"
#include "runner/log_spool.h"
#include "runner/retry.h"
#include "runner/segment_sync.h"
#include "runner/server_link.h"
#include "sys/fd.h"

namespace lathe::runner {

class LogShipper {
 public:
  enum class Way { link, send };
  // `way`: an adopter sends, as it does not know what its runner met.
  LogShipper(const LogSpool& log, std::string name, SegmentSync& sync, Way way = Way::link)
      : log_(log), name_(std::move(name)), sync_(sync), linked_(way == Way::link) {}

  // Whether ship() has something to send. `last`: the log is complete, so its last segment is sealed too.
  bool has_more(bool last) const;
  // Whether a whole piece waits to be sent: no reason to let more gather.
  bool is_behind() const;
  // Sends one piece (bytes: at most 1 MiB; linked: the size of the segment now). A server that stands elsewhere (it
  // lost unsynced bytes in a power cut) is asked where; then unavailable: try again, from there.
  base::Result<void> ship(ServerLink& link, bool last);
  // Goes on where the server stands: it has lost something, or another runner began to ship this spool.
  base::Result<void> resume(ServerLink& link);
  void resume_at(const LogStand& stand);

 private:
  base::Result<void> ship_piece(ServerLink& link, bool last);
  base::Result<void> ship_notice(ServerLink& link, std::uint64_t size, bool seal);
  base::Result<void> ship_bytes(ServerLink& link, std::uint64_t size, bool seal);
  base::Result<std::uint64_t> size_of(std::uint64_t segment) const;
  void sealed();

  const LogSpool& log_;
  const std::string name_;
  SegmentSync& sync_;
  std::uint64_t segment_ = 0, offset_ = 0;  // the first byte not sent
  bool linked_;                             // until the server says that it cannot, or a sync has failed
};

// Runs a LogShipper on a thread of its own, which uses `link` alone until stop() has returned.
class ShipperThread {
 public:
  ShipperThread(LogShipper& shipper, ServerLink& link, Inbox& inbox, BackoffLimits limits);
  ~ShipperThread() { stop(); }
  // There are new bytes. Cheap: no system call unless the thread waits.
  void nudge();
  void stop();

 private:
  void run();

  LogShipper& shipper_;
  ServerLink& link_;
  Inbox& inbox_;
  const BackoffLimits limits_;
  sys::Fd stop_event_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace lathe::runner
