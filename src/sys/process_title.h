// The argument list that /proc/PID/cmdline and ps show, rewritten in place. For a process that was forked and never
// executed anything: its own words instead of its parent's. The room is that of the list the program was started with.
#pragma once

#include <span>
#include <string>

namespace lathe::sys {

class ProcessTitle {
 public:
  // `argv` as main() got it: the words lie behind one another in memory.
  ProcessTitle(int argc, char** argv);

  bool fits(std::span<const std::string> words) const;
  void set(std::span<const std::string> words) const;  // cut where the room ends

 private:
  std::span<char> room_;
};

}  // namespace lathe::sys
