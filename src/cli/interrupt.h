// While it lives, Ctrl-C breaks the given clients' requests instead of ending the program; a second one ends it.
// Owns one thread; SIGINT stays blocked in the thread that made it.
#pragma once

#include <csignal>
#include <initializer_list>
#include <thread>
#include <vector>

#include "cli/api_client.h"

namespace lathe::cli {

class InterruptGuard {
 public:
  explicit InterruptGuard(std::initializer_list<ApiClient*> clients);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;

 private:
  void watch();
  std::vector<ApiClient*> clients_;
  sigset_t previous_{};
  int signal_fd_ = -1, stop_fd_ = -1;
  std::thread thread_;
};

}  // namespace lathe::cli
