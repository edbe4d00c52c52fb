#include <fmt/format.h>

#include <iterator>

#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/texts.h"

namespace lathe::cli {
namespace {

std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

void append_options(std::string& out, std::span<const Option> options) {
  out += "\n| option | meaning |\n|---|---|\n";
  for (const auto& option : options)
    if (!option.hidden)
      fmt::format_to(std::back_inserter(out), "| `{}` | {} |\n", cell(option_form(option)),
                     cell(option_sentence(option)));
}

void append_command(std::string& out, const Command& command) {
  fmt::format_to(std::back_inserter(out), "\n## lathe {}\n\n{}.\n\n```\n{}\n```\n", command.path, command.summary,
                 usage_line(command));
  if (!command.details.empty()) fmt::format_to(std::back_inserter(out), "\n{}\n", command.details);
  if (!command.arguments.empty()) out += "\n| argument | meaning |\n|---|---|\n";
  for (const auto& argument : command.arguments)
    fmt::format_to(std::back_inserter(out), "| `{}` | {} |\n", argument.name, cell(argument.help));
  bool visible = false;
  for (const auto& option : command.options) visible |= !option.hidden;
  if (visible) append_options(out, command.options);
  for (const auto& example : command.examples)
    fmt::format_to(std::back_inserter(out), "\nExample: {}\n\n```\n{}\n```\n", example.what, example.line);
}

}  // namespace

std::string reference_page(const Catalogue& catalogue) {
  std::string out =
      "# Command reference\n\nMade from the command table by `lathe reference`; a test keeps it in step. Data goes to "
      "stdout, everything else to stderr.\n\n## Options of every command\n";
  append_options(out, catalogue.globals);
  out += "\n## Exit status\n\n| status | meaning |\n|---|---|\n";
  for (const auto& row : exit_codes())
    fmt::format_to(std::back_inserter(out), "| {} | {} |\n", row.status, cell(row.meaning));
  for (const Command* command : catalogue.commands)
    if (!command->hidden) append_command(out, *command);
  return out;
}

}  // namespace lathe::cli
