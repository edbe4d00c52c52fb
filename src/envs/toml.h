// A reader for the TOML that tools write for us: tables, arrays of tables, strings, numbers, dates (as text), arrays
// and inline tables. No dotted keys, no multi-line strings. The result is JSON.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "base/error.h"

namespace lathe::envs {

base::Result<boost::json::object> parse_toml(std::string_view text);

}  // namespace lathe::envs
