// Messages between clients, runners and the server: late, twice, or never.
#pragma once

#include <functional>

#include "sim/loop.h"

namespace lathe::sim {

struct NetworkFaults {
  int loss_percent = 0;
  int duplicate_percent = 0;
  int straggler_percent = 0;  // arrives up to half a minute late
};

class Network {
 public:
  explicit Network(Loop& loop) : loop_(loop) {}
  NetworkFaults faults;

  void send(const std::function<void()>& deliver) {
    if (loop_.chance(faults.loss_percent)) return;
    for (int copies = loop_.chance(faults.duplicate_percent) ? 2 : 1; copies > 0; --copies) {
      const bool straggler = loop_.chance(faults.straggler_percent);
      loop_.after(straggler ? loop_.between(kSecond, 30 * kSecond) : loop_.between(kMillisecond, 20 * kMillisecond),
                  deliver);
    }
  }

 private:
  Loop& loop_;
};

}  // namespace lathe::sim
