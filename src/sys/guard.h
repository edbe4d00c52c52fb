// The life of a guardian in its own process, with and without a box. Only for sys/guardian.cc and sys/box_init.cc.
#pragma once

#include "sys/guardian.h"

namespace lathe::sys {

inline constexpr char kTerminate = 'T', kKill = 'K';

struct GuardDuty {
  const GuardianOrder& order;
  bool is_first = false;  // process 1: all others are the program's
};

// Starts the program, obeys `control`, and leaves by _exit: the objects in its memory are not its own.
[[noreturn]] void stand_guard(int control, const GuardDuty& duty, const SpawnRequest& program);

}  // namespace lathe::sys
