#include "cli/run_id.h"

#include <fmt/format.h>

#include <chrono>

#include "base/strings.h"

namespace lathe::cli {

std::string make_run_id(std::string_view experiment, std::int64_t unix_seconds, std::string_view four_random_bytes) {
  return fmt::format("{}_{}_{}", experiment, unix_seconds, base::to_hex(four_random_bytes));
}

std::string make_run_id(std::string_view experiment) {
  using namespace std::chrono;
  auto now = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
  return make_run_id(experiment, now, base::random_bytes(4));
}

}  // namespace lathe::cli
