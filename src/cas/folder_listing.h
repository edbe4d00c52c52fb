// The names in one folder, sorted, without "." and "..".
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace lathe::cas {

base::Result<std::vector<std::string>> list_folder(const std::string& path);

}  // namespace lathe::cas
