#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace lathe::cli {
namespace {

struct Line {
  std::string left;
  std::string right;
};

void append_lines(std::string& out, std::string_view title, const std::vector<Line>& lines) {
  if (lines.empty()) return;
  std::size_t width = 0;
  for (const auto& line : lines)
    if (line.left.size() <= 30) width = std::max(width, line.left.size());
  fmt::format_to(std::back_inserter(out), "\n{}:\n", title);
  for (const auto& line : lines) {
    if (line.left.size() > 30)
      fmt::format_to(std::back_inserter(out), "  {}\n  {:{}}  {}\n", line.left, "", width, line.right);
    else
      fmt::format_to(std::back_inserter(out), "  {:{}}  {}\n", line.left, width, line.right);
  }
}

std::vector<Line> option_lines(std::span<const Option> options) {
  std::vector<Line> lines;
  for (const auto& option : options)
    if (!option.hidden) lines.push_back({option_form(option), option_sentence(option)});
  return lines;
}

}  // namespace

std::string option_form(const Option& option) {
  std::string out =
      option.letter ? fmt::format("-{}, --{}", option.letter, option.name) : fmt::format("--{}", option.name);
  if (!option.value.empty()) out += fmt::format(" {}", option.choices.empty() ? option.value : option.choices);
  return out;
}

std::string option_sentence(const Option& option) {
  std::string out(option.help);
  if (option.repeated) out += "; may be given several times";
  if (!option.fallback.empty()) out += fmt::format(" (default {})", option.fallback);
  return out;
}

std::string usage_line(const Command& command) {
  std::string out = fmt::format("lathe {}", command.path);
  if (std::ranges::any_of(command.options, [](const Option& o) { return !o.hidden; })) out += " [options]";
  for (const auto& argument : command.arguments) {
    std::string name = fmt::format("{}{}", argument.name, argument.repeated ? "…" : "");
    out += argument.required ? " " + name : fmt::format(" [{}]", name);
  }
  if (!command.rest.empty()) out += fmt::format(" [-- {}…]", command.rest);
  return out;
}

std::string overview_help(const Catalogue& catalogue) {
  std::string out = "Lathe: the Azure ML workflow on machines you own.\n\nusage: lathe COMMAND [options]\n";
  std::vector<Line> single, groups;
  for (const Command* command : catalogue.commands)
    if (!command->hidden && command->path.find(' ') == command->path.npos)
      single.push_back({std::string(command->path), std::string(command->summary)});
  for (const auto& group : catalogue.groups) groups.push_back({std::string(group.name), std::string(group.summary)});
  append_lines(out, "commands", single);
  append_lines(out, "command groups", groups);
  append_lines(out, "options of every command", option_lines(catalogue.globals));
  out += "\nlathe COMMAND --help tells more. Data goes to stdout, everything else to stderr.\n";
  return out;
}

std::string group_help(const Catalogue& catalogue, std::string_view group) {
  std::string out;
  for (const auto& known : catalogue.groups)
    if (known.name == group) out = fmt::format("{}\n\nusage: lathe {} COMMAND [options]\n", known.summary, group);
  std::vector<Line> lines;
  for (const Command* command : catalogue.commands)
    if (!command->hidden && command->path.starts_with(fmt::format("{} ", group)))
      lines.push_back({std::string(command->path.substr(group.size() + 1)), std::string(command->summary)});
  append_lines(out, "commands", lines);
  return out;
}

std::string command_help(const Catalogue& catalogue, const Command& command) {
  std::string out = fmt::format("{}\n\nusage: {}\n", command.summary, usage_line(command));
  if (!command.details.empty()) fmt::format_to(std::back_inserter(out), "\n{}\n", command.details);
  std::vector<Line> arguments;
  for (const auto& argument : command.arguments)
    arguments.push_back({std::string(argument.name), std::string(argument.help)});
  append_lines(out, "arguments", arguments);
  append_lines(out, "options", option_lines(command.options));
  append_lines(out, "options of every command", option_lines(catalogue.globals));
  std::vector<Line> examples;
  for (const auto& example : command.examples)
    examples.push_back({std::string(example.line), std::string(example.what)});
  append_lines(out, "examples", examples);
  return out;
}

}  // namespace lathe::cli
