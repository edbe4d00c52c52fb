// Run ids as the Azure ML SDK makes them: <experiment>_<unix seconds>_<8 hex>. The client makes the id before it sends,
// so that a submit can be repeated without making a second run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe::cli {

std::string make_run_id(std::string_view experiment, std::int64_t unix_seconds, std::string_view four_random_bytes);
std::string make_run_id(std::string_view experiment);

}  // namespace lathe::cli
