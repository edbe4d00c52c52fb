// Shell completions: a function with one case per command. They name words, options, choices, files and folders; they
// never call the server, so that a Tab costs nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <set>
#include <string>

#include "base/strings.h"
#include "cli/texts.h"

namespace lathe::cli {
namespace {

std::string option_words(const Catalogue& catalogue, const Command& command) {
  std::string out;
  auto add = [&](std::span<const Option> options) {
    for (const auto& option : options)
      if (!option.hidden) out += fmt::format(" --{}", option.name);
  };
  add(command.options);
  add(catalogue.globals);
  return out.substr(1) + " --help";
}

std::string next_words(const Catalogue& catalogue, std::string_view group) {
  std::set<std::string_view> words;
  std::string prefix = group.empty() ? "" : fmt::format("{} ", group);
  for (const Command* command : catalogue.commands) {
    if (command->hidden || !command->path.starts_with(prefix)) continue;
    auto tail = command->path.substr(prefix.size());
    words.insert(tail.substr(0, tail.find(' ')));
  }
  std::string out;
  for (auto word : words) out += fmt::format("{}{}", out.empty() ? "" : " ", word);
  return out;
}

// A pattern of the options that take the next word as their value.
std::string options_with_values(const Catalogue& catalogue) {
  std::set<std::string> names;
  auto add = [&](std::span<const Option> options) {
    for (const auto& option : options) {
      if (option.value.empty()) continue;
      names.insert(fmt::format("--{}", option.name));
      if (option.letter) names.insert(fmt::format("-{}", option.letter));
    }
  };
  add(catalogue.globals);
  for (const Command* command : catalogue.commands) add(command->options);
  return fmt::format("{}", fmt::join(names, "|"));
}

// For both shells: the words before the cursor, without options and their values, are `typed`; a case of them begins.
void begin_case_of_typed_words(std::string& out, const Catalogue& catalogue, std::string_view before_the_cursor) {
  fmt::format_to(std::back_inserter(out),
                 "  local typed='' word is_value=''\n"
                 "  for word in \"{}\"; do\n"
                 "    if [[ -n $is_value ]]; then is_value=''; continue; fi\n"
                 "    case $word in\n"
                 "      {}) is_value=1 ;;\n"
                 "      -*) ;;\n"
                 "      *) typed+=\"${{typed:+ }}$word\" ;;\n"
                 "    esac\n"
                 "  done\n"
                 "  case $typed in\n",
                 before_the_cursor, options_with_values(catalogue));
}

const char* bash_action(Completes completes) {
  switch (completes) {
    case Completes::file:
      return "compgen -f -- \"$cur\"";
    case Completes::folder:
      return "compgen -d -- \"$cur\"";
    case Completes::nothing:
      return "";
  }
  return "";
}

// The case of the word before the cursor: an option that takes a value.
void append_bash_values(std::string& out, std::span<const Option> options, std::set<std::string_view>& seen) {
  for (const auto& option : options) {
    if (option.value.empty() || option.hidden || !seen.insert(option.name).second) continue;
    std::string pattern = fmt::format("--{}", option.name);
    if (option.letter) pattern += fmt::format("|-{}", option.letter);
    std::string action = bash_action(option.completes);
    if (!option.choices.empty()) {
      std::string words(option.choices);
      std::ranges::replace(words, '|', ' ');
      action = fmt::format("compgen -W '{}' -- \"$cur\"", words);
    }
    if (action.empty())
      fmt::format_to(std::back_inserter(out), "    {}) return ;;\n", pattern);
    else
      fmt::format_to(std::back_inserter(out), "    {}) mapfile -t COMPREPLY < <({}); return ;;\n", pattern, action);
  }
}

std::string zsh_quote(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':')
      out += fmt::format("\\{}", c);
    else
      out += c;
  }
  return out;
}

std::string zsh_value(const Option& option) {
  if (option.value.empty()) return "";
  if (!option.choices.empty()) {
    std::string words(option.choices);
    std::ranges::replace(words, '|', ' ');
    return fmt::format(":{}:({})", zsh_quote(option.value), words);
  }
  const char* action = option.completes == Completes::file     ? "_files"
                       : option.completes == Completes::folder ? "_files -/"
                                                               : "";
  return fmt::format(":{}:{}", zsh_quote(option.value), action);
}

void append_zsh_options(std::string& out, std::span<const Option> options) {
  for (const auto& option : options) {
    if (option.hidden) continue;
    auto append = [&](std::string_view name) {
      fmt::format_to(std::back_inserter(out), " \\\n        '{}{}[{}]{}'", option.repeated ? "*" : "", name,
                     zsh_quote(option.help), zsh_value(option));
    };
    append(fmt::format("--{}", option.name));
    if (option.letter) append(fmt::format("-{}", option.letter));
  }
}

void append_zsh_command(std::string& out, const Catalogue& catalogue, const Command& command) {
  fmt::format_to(std::back_inserter(out), "    '{0}'|'{0} '*) _arguments -S", command.path);
  append_zsh_options(out, command.options);
  append_zsh_options(out, catalogue.globals);
  // With nothing to offer still a list, an empty one: after words that it does not expect zsh completes no option.
  const Argument last = command.arguments.empty() ? Argument{.name = "ARGUMENT"} : command.arguments.back();
  fmt::format_to(std::back_inserter(out), " \\\n        '*:{}:{}' ;;\n", zsh_quote(last.name),
                 last.completes == Completes::file     ? "_files"
                 : last.completes == Completes::folder ? "_files -/"
                                                       : "()");
}

void append_zsh_group(std::string& out, const Catalogue& catalogue, std::string_view group) {
  fmt::format_to(std::back_inserter(out), "    '{}') _arguments -S", group);
  append_zsh_options(out, catalogue.globals);
  fmt::format_to(std::back_inserter(out), " \\\n        '*:COMMAND:({})' ;;\n", next_words(catalogue, group));
}

}  // namespace

std::string bash_completion(const Catalogue& catalogue) {
  std::string out =
      "# bash completion of lathe, made by: lathe completion bash\n"
      "_lathe() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  case $prev in\n";
  std::set<std::string_view> seen;
  append_bash_values(out, catalogue.globals, seen);
  for (const Command* command : catalogue.commands) append_bash_values(out, command->options, seen);
  out +=
      "  esac\n"
      "  local next=''\n";
  begin_case_of_typed_words(out, catalogue, "${COMP_WORDS[@]:1:COMP_CWORD-1}");
  for (const Command* command : catalogue.commands) {
    if (command->hidden) continue;
    Completes completes = command->arguments.empty() ? Completes::nothing : command->arguments.back().completes;
    std::string files = bash_action(completes);
    fmt::format_to(std::back_inserter(out), "    '{0}'|'{0} '*) next='{1}'{2} ;;\n", command->path,
                   option_words(catalogue, *command),
                   files.empty() ? "" : fmt::format("; [[ $cur == -* ]] || mapfile -t COMPREPLY < <({})", files));
  }
  for (const auto& group : catalogue.groups)
    fmt::format_to(std::back_inserter(out), "    '{}') next='{}' ;;\n", group.name, next_words(catalogue, group.name));
  fmt::format_to(std::back_inserter(out), "    '') next='{}' ;;\n", next_words(catalogue, ""));
  out +=
      "  esac\n"
      "  [[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -W \"$next\" -- \"$cur\")\n"
      "}\n"
      "complete -F _lathe lathe\n";
  return out;
}

std::string zsh_completion(const Catalogue& catalogue) {
  std::string out =
      "#compdef lathe\n"
      "# zsh completion of lathe, made by: lathe completion zsh\n"
      "_lathe() {\n";
  begin_case_of_typed_words(out, catalogue, "${(@)words[2,CURRENT-1]}");
  for (const Command* command : catalogue.commands)
    if (!command->hidden) append_zsh_command(out, catalogue, *command);
  for (const auto& group : catalogue.groups) append_zsh_group(out, catalogue, group.name);
  append_zsh_group(out, catalogue, "");
  out +=
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _lathe ]; then _lathe \"$@\"; else compdef _lathe lathe; fi\n";
  return out;
}

}  // namespace lathe::cli
