// LogRedactor: hides the secrets that a run was given in its log, before a byte of it is written. The secrets, and the
// end of the output that may be the beginning of one, lie in memory that the guardian shares: when the runner is
// killed, what the guardian saves of the log is redacted too. A run that reads no secret pays for one mapping that is
// never touched. add() and ids() may be called by any thread; the rest is for whoever holds lock().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runner/secret_patterns.h"

namespace lathe::runner {

class LogRedactor {
 public:
  static base::Result<std::unique_ptr<LogRedactor>> create();
  ~LogRedactor();
  LogRedactor(const LogRedactor&) = delete;
  LogRedactor& operator=(const LogRedactor&) = delete;

  // Nothing that is read from the pipe after this returns is shown with the value in it. too_large: there are too many.
  base::Result<void> add(const std::string& id, std::string_view value);
  // Of the secrets that are hidden.
  std::vector<std::string> ids() const;

  std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }
  bool is_used() const { return !patterns_.empty(); }

  // Reads up to 64 KiB behind what is kept back; as read(2). `log_size`: bytes of the log that are written.
  ssize_t take(int pipe, std::uint64_t log_size);
  // What is to be written now. When the log has grown since take(), a runner was killed before it could say written():
  // that part of the text is left out. `last`: nothing follows.
  SecretPatterns::Hidden hide(std::uint64_t log_size, bool last) const;
  // The text was written, and the log has this size now.
  void written(const SecretPatterns::Hidden& hidden, std::uint64_t log_size);
  // What could not be written, as bytes of output.
  std::uint64_t give_up();

  // In the guardian: as the runner left it.
  void reload();

 private:
  struct Shared;
  struct Slot;
  explicit LogRedactor(Shared* shared) : shared_(shared) {}
  const Slot& now() const;
  Slot& next();
  void flip();

  Shared* const shared_;
  mutable std::mutex mutex_;
  std::vector<std::string> ids_;
  SecretPatterns patterns_;
};

}  // namespace lathe::runner
