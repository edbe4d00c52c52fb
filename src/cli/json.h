// JSON for the command line. Included by .cc files only: Boost.JSON costs compile time.
#pragma once

#include <boost/json.hpp>

#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::cli {

namespace json = boost::json;

// Text that the server sent, or a file of ours.
base::Result<json::value> parse_json(std::string_view text, std::string_view what);
// Two spaces of indentation, keys in the order they came; ends with a newline.
std::string pretty_json(const json::value& value);
// The value at a JSON pointer as text for people: strings as they are, null and absent as "".
std::string text_at(const json::value& value, std::string_view pointer);

}  // namespace lathe::cli
