#include "cli/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/exit_codes.h"

namespace lathe::cli {

InterruptGuard::InterruptGuard(std::initializer_list<ApiClient*> clients) : clients_(clients) {
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &previous_);
  signal_fd_ = ::signalfd(-1, &interrupt, SFD_CLOEXEC);
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
  LATHE_CHECK(signal_fd_ >= 0 && stop_fd_ >= 0, "no descriptors left");
  thread_ = std::thread([this] { watch(); });
}

InterruptGuard::~InterruptGuard() {
  ::eventfd_write(stop_fd_, 1);
  thread_.join();
  ::close(signal_fd_);
  ::close(stop_fd_);
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void InterruptGuard::watch() {
  bool asked = false;
  for (;;) {
    pollfd fds[]{{.fd = stop_fd_, .events = POLLIN, .revents = 0}, {.fd = signal_fd_, .events = POLLIN, .revents = 0}};
    // After the first Ctrl-C the clients are told again and again: one may have been between two requests.
    ::poll(fds, 2, asked ? 100 : -1);
    if (fds[0].revents) return;
    if (fds[1].revents) {
      signalfd_siginfo info;
      if (::read(signal_fd_, &info, sizeof info) == sizeof info && std::exchange(asked, true)) _exit(kExitInterrupted);
    }
    if (asked)
      for (auto* client : clients_) client->interrupt();
  }
}

}  // namespace lathe::cli
