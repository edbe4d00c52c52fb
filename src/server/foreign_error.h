// Exceptions that are not ours, as an Error: for work whose end has to be told to others whatever ended it.
#pragma once

#include <system_error>

#include "base/error.h"

namespace lathe::server {

inline base::Error as_error(const std::exception& problem) {
  if (const auto* ours = dynamic_cast<const base::Error*>(&problem)) return *ours;
  const auto* told = dynamic_cast<const std::system_error*>(&problem);  // also those of std::filesystem
  if (told && (told->code().category() == std::generic_category() || told->code().category() == std::system_category()))
    return base::errno_error(told->code().value(), told->what());
  return base::Error(base::Code::internal, problem.what()).hint("this is a fault of Lathe; its log says more");
}

}  // namespace lathe::server
