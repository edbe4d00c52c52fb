// Processes of this same program, started by fork alone. An exec of it costs more than half of what a short task does:
// loading, linking, asking the processor what it can do, touching every page anew. A fork server is a small process
// that did all this once, has one thread and no state, and forks on request; the new process runs as if it had been
// executed with the given words and, beside the fork server's own environment, the given variables.
//
// Who asks (ForkClient) hands it a socket when starting it. When that socket closes the fork server ends; what it
// started goes on, each in a session of its own.
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "sys/fd.h"
#include "sys/process_title.h"

namespace lathe::sys {

struct ForkRequest {
  std::vector<std::string> words;      // argv, with the program's name first
  std::vector<std::string> variables;  // "NAME=value"
  int descriptor = -1;                 // the new process has it as kForkDescriptor; -1: none
};

inline constexpr int kForkDescriptor = 3;  // of the fork server: its socket; of what it starts: the one handed over
inline constexpr std::size_t kForkRoom = 16'384;  // of words and variables together

// In the fork server: serves until the other end of kForkDescriptor is closed. `run` is called in each new process,
// with the words, and gives its exit status. On a thread that is the only one.
base::Result<void> serve_forks(const ProcessTitle& title, const std::function<int(std::span<const std::string>)>& run);

// Thread-safe; a request takes a fraction of a millisecond.
class ForkClient {
 public:
  // Starts the fork server itself; called again when it has died. Gets its end of the socket.
  using Starter = std::function<base::Result<void>(int socket)>;
  explicit ForkClient(Starter starter) : starter_(std::move(starter)) {}

  // "pid:start time" of the new process (see process_start). too_large when it would not fit; unavailable when the fork
  // server died over it: then nobody knows whether the process was started.
  base::Result<std::string> start(const ForkRequest& request);

 private:
  base::Result<void> connect();

  const Starter starter_;
  std::mutex mutex_;
  Fd socket_;
};

}  // namespace lathe::sys
