// A lock that was exported elsewhere and is imported here: what is accepted says the same when it is written again.
#include "envs/lock.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  auto lock = lathe::envs::parse_lock({reinterpret_cast<const char*>(data), size});
  if (!lock) return 0;
  auto again = lathe::envs::parse_lock(lock->text);
  if (!again || again->text != lock->text) __builtin_trap();
  return 0;
}
