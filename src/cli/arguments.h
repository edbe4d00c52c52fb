// Arguments: what was typed, checked against the command's description. Asking for an option that the command does not
// declare is a bug and aborts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"

namespace lathe::cli {

class Arguments {
 public:
  const Command* command = nullptr;  // null: only `lathe`, or a group; then help is wanted
  std::string group;                 // "run" when only the group was typed
  bool wants_help = false;
  bool wants_version = false;
  std::vector<std::string> positionals;
  std::vector<std::string> rest;  // after "--"

  bool has(std::string_view option) const;
  std::optional<std::string> find(std::string_view option) const;
  std::string value_or(std::string_view option, std::string_view fallback) const;
  std::vector<std::string> all(std::string_view option) const;
  // A whole number within [least, most]; invalid otherwise.
  base::Result<std::int64_t> number(std::string_view option, std::int64_t fallback, std::int64_t least,
                                    std::int64_t most) const;
  // Each value as KEY=VALUE.
  base::Result<std::vector<std::pair<std::string, std::string>>> pairs(std::string_view option) const;

 private:
  friend base::Result<Arguments> parse(std::span<const char* const> words, const Catalogue& catalogue);
  void check_declared(std::string_view option) const;
  std::span<const Option> globals_;
  std::vector<std::pair<const Option*, std::string>> values_;
};

// `words` without the program's name. Errors are `invalid`, name what was wrong and suggest the nearest right word.
base::Result<Arguments> parse(std::span<const char* const> words, const Catalogue& catalogue);

}  // namespace lathe::cli
