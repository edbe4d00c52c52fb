// A command is a value: its words, options, arguments and function. The parser, --help, the completions, the man page
// and docs/user/cli.md are all made from it. Everything is constant-initialised: starting `lathe` runs no constructors.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

namespace lathe::cli {

class Call;

// What a shell should offer where a value is typed.
enum class Completes { nothing, file, folder };

struct Option {
  std::string_view name = {};   // "experiment" is --experiment
  char letter = 0;              // 'f' is -f
  std::string_view value = {};  // what the value is called in help, e.g. "NAME"; empty: a flag
  std::string_view help = {};
  std::string_view fallback = {};  // the default, for help
  std::string_view choices = {};   // "json|table": the only values allowed
  Completes completes = Completes::nothing;
  bool repeated = false;
  bool hidden = false;
};

struct Argument {
  std::string_view name = {};
  std::string_view help = {};
  bool required = true;
  bool repeated = false;  // only the last one
  Completes completes = Completes::nothing;
};

struct Example {
  std::string_view line;
  std::string_view what;
};

struct Command {
  std::string_view path = {};  // "run submit"
  std::string_view summary = {};
  std::string_view details = {};
  std::span<const Option> options = {};
  std::span<const Argument> arguments = {};
  std::string_view rest = {};  // name of what follows "--"; empty: nothing may
  std::span<const Example> examples = {};
  bool hidden = false;
  base::Result<int> (*run)(Call&) = nullptr;  // the exit status
};

struct Group {
  std::string_view name;
  std::string_view summary;
};

// What the parser and the text makers work on; commands.cc holds the real one.
struct Catalogue {
  std::span<const Command* const> commands;
  std::span<const Group> groups;
  std::span<const Option> globals;  // accepted by every command
};

}  // namespace lathe::cli
