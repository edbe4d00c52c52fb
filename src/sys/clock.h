// The clocks of the kernel, read directly: for the runner, which has no event loop of rt/. Wall-clock time is only for
// people; limits run on the boot clock, which goes on while the machine sleeps and ignores wall-clock jumps.
#pragma once

#include <chrono>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "sys/fd.h"

namespace lathe::sys {

base::UtcTime utc_now();
base::Duration boot_time();
// Another one after each start of the machine; empty where the kernel does not tell.
std::string boot_id();

// A timer on the boot clock; readable once it is due. arm(0) disarms it.
class BootTimer {
 public:
  static base::Result<BootTimer> create();
  void arm(base::Duration from_now, base::Duration period = {});
  // Takes the expiry off the descriptor; false when it was not due.
  bool take();
  int fd() const { return fd_.get(); }

 private:
  explicit BootTimer(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace lathe::sys
