#include "wire/script_token.h"

#include "base/digest.h"

namespace lathe::wire {

std::string script_token(std::string_view runner_token) {
  return "lathe_" + base::sha256("script token\n" + std::string(runner_token)).hex();
}

}  // namespace lathe::wire
