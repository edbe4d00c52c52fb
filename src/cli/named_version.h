// NAME or NAME:VERSION, as registered things are called on the command line.
#pragma once

#include <array>
#include <string>

#include "base/strings.h"
#include "cli/command.h"

namespace lathe::cli {

struct NamedVersion {
  std::string name, version;  // no version: the newest
};

inline NamedVersion parse_named_version(const std::string& text) {
  auto colon = text.rfind(':');
  if (colon == text.npos || !base::parse_u64(std::string_view(text).substr(colon + 1))) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

inline constexpr std::array kVersionArgument{
    Argument{.name = "NAME[:VERSION]", .help = "its name, and its version unless it is the newest"}};

}  // namespace lathe::cli
