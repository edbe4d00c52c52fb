// Header fields of a message; names in lower case.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace lathe::net {

using Headers = std::map<std::string, std::string, std::less<>>;

}  // namespace lathe::net
