// The parser over the command table: words → Arguments. Options may stand before, between and after the command's
// words.
#include <set>

#include "base/strings.h"
#include "cli/arguments.h"
#include "cli/suggest.h"

namespace lathe::cli {
namespace {

using base::Code;
using base::Error;

bool is_choice(const Option& option, std::string_view value) {
  auto words = base::split(option.choices, '|');
  return std::ranges::find(words, value) != words.end();
}

class Parser {
 public:
  Parser(std::span<const char* const> words, const Catalogue& catalogue) : words_(words), catalogue_(catalogue) {}

  base::Result<void> run(Arguments& out, std::vector<std::pair<const Option*, std::string>>& values);

 private:
  base::Result<void> option(std::string_view word);
  base::Result<void> letters(std::string_view word);
  base::Result<void> store(const Option& option, std::optional<std::string_view> attached, std::string_view typed);
  base::Result<void> command_word(std::string_view word);
  base::Result<void> check_complete() const;
  const Option* find_option(std::string_view name, char letter) const;
  Error unknown_option(std::string_view word) const;
  Error unknown_command(std::string_view word) const;
  bool has_group(std::string_view name) const;
  std::string usage_hint() const;

  std::span<const char* const> words_;
  const Catalogue& catalogue_;
  std::size_t at_ = 0;
  Arguments* out_ = nullptr;
  std::vector<std::pair<const Option*, std::string>>* values_ = nullptr;
};

base::Result<void> Parser::run(Arguments& out, std::vector<std::pair<const Option*, std::string>>& values) {
  out_ = &out;
  values_ = &values;
  while (at_ < words_.size()) {
    std::string_view word = words_[at_++];
    if (word == "--") {
      if (!out.command || out.command->rest.empty())
        return base::fail(Error(Code::invalid, "nothing may follow '--' here").hint(usage_hint()));
      for (; at_ < words_.size(); ++at_) out.rest.emplace_back(words_[at_]);
    } else if (word.starts_with("--")) {
      LATHE_TRY_VOID(option(word.substr(2)));
    } else if (word.size() > 1 && word.starts_with('-')) {
      LATHE_TRY_VOID(letters(word.substr(1)));
    } else if (!out.command) {
      LATHE_TRY_VOID(command_word(word));
    } else {
      out.positionals.emplace_back(word);
    }
  }
  if (out.wants_help || out.wants_version) return {};
  return check_complete();
}

base::Result<void> Parser::option(std::string_view word) {
  std::optional<std::string_view> attached;
  std::string_view name = word;
  if (auto equals = word.find('='); equals != word.npos)
    attached = word.substr(equals + 1), name = word.substr(0, equals);
  if (name == "help" && !attached) return out_->wants_help = true, base::Result<void>{};
  if (name == "version" && !attached) return out_->wants_version = true, base::Result<void>{};
  const Option* found = find_option(name, 0);
  if (!found) return base::fail(unknown_option(name));
  return store(*found, attached, fmt::format("--{}", name));
}

// "-f", "-fo json", "-ojson"
base::Result<void> Parser::letters(std::string_view word) {
  while (!word.empty()) {
    char letter = word[0];
    word.remove_prefix(1);
    if (letter == 'h') {
      out_->wants_help = true;
      continue;
    }
    const Option* found = find_option({}, letter);
    if (!found)
      return base::fail(
          Error(Code::invalid, fmt::format("unknown option -{}", base::printable({&letter, 1}))).hint(usage_hint()));
    std::optional<std::string_view> attached;
    if (!found->value.empty() && !word.empty()) attached = std::exchange(word, {});
    LATHE_TRY_VOID(store(*found, attached, fmt::format("-{}", letter)));
  }
  return {};
}

base::Result<void> Parser::store(const Option& option, std::optional<std::string_view> attached,
                                 std::string_view typed) {
  auto complain = [&](std::string text) {
    return base::fail(Error(Code::invalid, std::move(text)).hint(usage_hint()).field(std::string(option.name)));
  };
  if (option.value.empty()) {
    if (attached) return complain(fmt::format("{} takes no value", typed));
    values_->emplace_back(&option, "");
    return {};
  }
  if (!attached) {
    if (at_ >= words_.size()) return complain(fmt::format("{} wants a value ({})", typed, option.value));
    attached = words_[at_++];
  }
  if (!option.choices.empty() && !is_choice(option, *attached))
    return complain(fmt::format("{} must be one of {}, not '{}'", typed, option.choices, base::printable(*attached)));
  values_->emplace_back(&option, std::string(*attached));
  return {};
}

base::Result<void> Parser::command_word(std::string_view word) {
  std::string path = out_->group.empty() ? std::string(word) : fmt::format("{} {}", out_->group, word);
  for (const Command* command : catalogue_.commands)
    if (command->path == path) return out_->command = command, base::Result<void>{};
  if (word == "help" && out_->group.empty()) return out_->wants_help = true, base::Result<void>{};
  if (has_group(path)) return out_->group = path, base::Result<void>{};
  return base::fail(unknown_command(word));
}

base::Result<void> Parser::check_complete() const {
  if (!out_->command) return {};
  const auto& arguments = out_->command->arguments;
  for (std::size_t i = out_->positionals.size(); i < arguments.size(); ++i)
    if (arguments[i].required)
      return base::fail(Error(Code::invalid, fmt::format("{} is missing", arguments[i].name)).hint(usage_hint()));
  bool open_end = !arguments.empty() && arguments.back().repeated;
  if (out_->positionals.size() > arguments.size() && !open_end)
    return base::fail(Error(Code::invalid, fmt::format("'{}' is one argument too many",
                                                       base::printable(out_->positionals[arguments.size()])))
                          .hint(usage_hint()));
  return {};
}

const Option* Parser::find_option(std::string_view name, char letter) const {
  auto search = [&](std::span<const Option> options) -> const Option* {
    for (const auto& option : options)
      if (letter ? option.letter == letter : option.name == name) return &option;
    return nullptr;
  };
  const Option* own = out_->command ? search(out_->command->options) : nullptr;
  return own ? own : search(catalogue_.globals);
}

Error Parser::unknown_option(std::string_view word) const {
  std::vector<std::string_view> known{"help", "version"};
  for (const auto& option : catalogue_.globals) known.push_back(option.name);
  if (out_->command)
    for (const auto& option : out_->command->options)
      if (!option.hidden) known.push_back(option.name);
  auto near = nearest(word, known);
  return Error(Code::invalid, fmt::format("unknown option --{}", base::printable(word)))
      .hint(near ? fmt::format("did you mean --{}?", *near) : usage_hint());
}

Error Parser::unknown_command(std::string_view word) const {
  std::set<std::string_view> known;
  for (const Command* command : catalogue_.commands) {
    if (command->hidden) continue;
    if (out_->group.empty())
      known.insert(command->path.substr(0, command->path.find(' ')));
    else if (command->path.starts_with(out_->group + " "))
      known.insert(command->path.substr(out_->group.size() + 1));
  }
  std::vector<std::string_view> words(known.begin(), known.end());
  auto near = nearest(word, words);
  std::string prefix = out_->group.empty() ? "lathe" : "lathe " + out_->group;
  return Error(Code::invalid, fmt::format("unknown command '{}'", base::printable(word)))
      .hint(near ? fmt::format("did you mean '{} {}'?", prefix, *near) : usage_hint());
}

bool Parser::has_group(std::string_view name) const {
  return std::ranges::any_of(catalogue_.groups, [&](const Group& group) { return group.name == name; });
}

std::string Parser::usage_hint() const {
  std::string words = out_->command ? std::string(out_->command->path) : out_->group;
  return fmt::format("lathe{}{} --help says what can be given", words.empty() ? "" : " ", words);
}

}  // namespace

base::Result<Arguments> parse(std::span<const char* const> words, const Catalogue& catalogue) {
  Arguments out;
  out.globals_ = catalogue.globals;
  LATHE_TRY_VOID(Parser(words, catalogue).run(out, out.values_));
  if (!out.command && !out.wants_version) out.wants_help = true;
  return out;
}

}  // namespace lathe::cli
