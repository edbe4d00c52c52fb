#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace lathe::base {

void check_failed(const char* file, int line, const char* condition, const std::string& why) {
  fmt::print(stderr, "lathe: bug at {}:{}: {} is false: {}\n", file, line, condition, why);
  std::fflush(stderr);
  std::abort();
}

}  // namespace lathe::base
