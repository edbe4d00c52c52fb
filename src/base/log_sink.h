// Sink: where log lines go, standard error whatever that is. For base/log.cc alone; not thread-safe. Never waits for a
// reader and never fails: what is not taken at once is counted.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe::base::log {

class Sink {
 public:
  // One or more whole lines.
  void put(std::string_view lines);
  // Lines that were lost since the last that was not.
  std::uint64_t dropped() const { return dropped_; }
  int use_file(std::string path, std::uint64_t most_bytes, int kept);
  void reopen();

 private:
  int open_file() const;
  void rotate();
  long send(const struct stat& target, std::string_view lines);
  int without_waiting(const struct stat& target);

  std::string path_;
  std::uint64_t most_bytes_ = 0;
  int kept_ = 0;
  std::uint64_t dropped_ = 0;
  bool torn_ = false;  // the last line came through in part
  // Our own description of a pipe or terminal: others that share standard error must not find it changed.
  int own_ = -1;
  struct stat owned_ {};
};

}  // namespace lathe::base::log
