// Clock: the only source of time. Real in main/, virtual in tests.
#pragma once

#include "base/time.h"

namespace lathe::rt {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual base::UtcTime utc() const = 0;        // for records and people
  virtual base::SteadyTime steady() const = 0;  // CLOCK_BOOTTIME: for waiting, unmoved by wall-clock jumps
};

// The machine's clocks.
const Clock& system_clock();

}  // namespace lathe::rt
