// The version of this build, from the file VERSION.
#pragma once

#include <string_view>

namespace lathe::cli {

std::string_view version();

}  // namespace lathe::cli
