// Versions of Python packages as far as our rules compare them: the numbers of the release ("2.12.1rc0+cpu" → 2, 12,
// 1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lathe::envs {

std::vector<int> release_numbers(std::string_view version);
// <0, 0 or >0; missing numbers are zeros.
int compare_versions(std::string_view a, std::string_view b);
// Every part of ">=2.6,<2.16" holds; "==2.*" and "2.2" (begins with) are known. An empty range holds.
bool version_in_range(std::string_view version, std::string_view range);

}  // namespace lathe::envs
