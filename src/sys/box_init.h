// Process 1 of a box: makes the view, adds to it on request, starts the program, and is its guardian. Only for
// sys/box.cc.
#pragma once

#include "sys/box.h"

namespace lathe::sys {

// Requests are a letter and what belongs to it; each but kRun and those of the guardian is answered.
inline constexpr char kBindReadOnly = 'r', kBind = 'b', kMountFuse = 'f', kUnmount = 'u', kRun = 'g';
inline constexpr std::size_t kRequestRoom = 16'384;

// A request to run has the program in its first descriptor, and one letter for each of the others.
inline constexpr char kInput = 'i', kOutput = 'o', kError = 'e', kPipe = 'p', kGroup = 'c';

struct BoxInit {
  int control = -1;
  const BoxView& view;
  const Box::Options& options;
  bool is_first = true;  // in a PID namespace of its own
  bool maps_user = false;
  uid_t user = 0;  // as it is outside
  gid_t group = 0;
};
[[noreturn]] void run_init(const BoxInit& init);

std::string encode_program(const SpawnRequest& program, const std::string& note);
struct BoxedProgram {
  SpawnRequest request;
  std::string note;
};
BoxedProgram decode_program(std::string_view text);

// "" or the code and text of an error.
std::string encode_answer(const base::Result<void>& outcome);
base::Result<void> decode_answer(std::string_view text);

}  // namespace lathe::sys
