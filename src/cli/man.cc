#include <fmt/format.h>

#include <iterator>

#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/texts.h"

namespace lathe::cli {
namespace {

// Text as roff: backslashes, hyphens that must stay hyphens, and a leading dot or quote that would be a request.
std::string roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_start = c == '\n';
  }
  return out;
}

void append_options(std::string& out, std::span<const Option> options) {
  for (const auto& option : options)
    if (!option.hidden)
      fmt::format_to(std::back_inserter(out), ".TP\n.B {}\n{}\n", roff(option_form(option)),
                     roff(option_sentence(option)));
}

void append_command(std::string& out, const Command& command) {
  fmt::format_to(std::back_inserter(out), ".SS {}\n{}.\n", roff(usage_line(command)), roff(command.summary));
  if (!command.details.empty()) fmt::format_to(std::back_inserter(out), ".PP\n{}\n", roff(command.details));
  for (const auto& argument : command.arguments)
    fmt::format_to(std::back_inserter(out), ".TP\n.I {}\n{}\n", roff(argument.name), roff(argument.help));
  append_options(out, command.options);
  for (const auto& example : command.examples)
    fmt::format_to(std::back_inserter(out), ".PP\n{}:\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n", roff(example.what),
                   roff(example.line));
}

}  // namespace

std::string man_page(const Catalogue& catalogue, std::string_view version) {
  std::string out = fmt::format(
      ".TH LATHE 1 \"\" \"lathe {}\" \"User Commands\"\n.SH NAME\nlathe \\- the Azure ML workflow on machines you own\n"
      ".SH SYNOPSIS\n.B lathe\n.I COMMAND\n[options]\n.SH DESCRIPTION\n"
      "One program gives a team a workspace: tracked runs with live logs, compute targets and a content store.\n"
      "Data goes to standard output, everything else to standard error.\n.SH COMMANDS\n",
      roff(version));
  for (const Command* command : catalogue.commands)
    if (!command->hidden) append_command(out, *command);
  out += ".SH OPTIONS OF EVERY COMMAND\n";
  append_options(out, catalogue.globals);
  out += ".SH EXIT STATUS\n";
  for (const auto& row : exit_codes())
    fmt::format_to(std::back_inserter(out), ".TP\n.B {}\n{}\n", row.status, roff(row.meaning));
  return out;
}

}  // namespace lathe::cli
