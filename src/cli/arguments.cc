#include "cli/arguments.h"

#include "base/check.h"
#include "base/strings.h"

namespace lathe::cli {

void Arguments::check_declared(std::string_view option) const {
  auto declares = [&](std::span<const Option> options) {
    return std::ranges::any_of(options, [&](const Option& o) { return o.name == option; });
  };
  LATHE_CHECK(declares(globals_) || (command && declares(command->options)), "no option --{} is declared", option);
}

bool Arguments::has(std::string_view option) const { return find(option).has_value(); }

std::optional<std::string> Arguments::find(std::string_view option) const {
  check_declared(option);
  // The last one wins, so that an alias with options can be overridden.
  for (auto it = values_.rbegin(); it != values_.rend(); ++it)
    if (it->first->name == option) return it->second;
  return std::nullopt;
}

std::string Arguments::value_or(std::string_view option, std::string_view fallback) const {
  return find(option).value_or(std::string(fallback));
}

std::vector<std::string> Arguments::all(std::string_view option) const {
  check_declared(option);
  std::vector<std::string> out;
  for (const auto& [declared, value] : values_)
    if (declared->name == option) out.push_back(value);
  return out;
}

base::Result<std::int64_t> Arguments::number(std::string_view option, std::int64_t fallback, std::int64_t least,
                                             std::int64_t most) const {
  auto text = find(option);
  if (!text) return fallback;
  bool negative = text->starts_with('-');
  auto digits = base::parse_u64(std::string_view(*text).substr(negative ? 1 : 0));
  if (digits && *digits <= std::uint64_t{1} << 62) {
    auto value = negative ? -static_cast<std::int64_t>(*digits) : static_cast<std::int64_t>(*digits);
    if (value >= least && value <= most) return value;
  }
  return base::fail(base::Error(base::Code::invalid, fmt::format("--{} wants a whole number from {} to {}, not '{}'",
                                                                 option, least, most, base::printable(*text)))
                        .field(std::string(option)));
}

base::Result<std::vector<std::pair<std::string, std::string>>> Arguments::pairs(std::string_view option) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& text : all(option)) {
    auto equals = text.find('=');
    if (equals == 0 || equals == text.npos)
      return base::fail(
          base::Error(base::Code::invalid, fmt::format("--{} wants KEY=VALUE, not '{}'", option, base::printable(text)))
              .field(std::string(option)));
    out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

}  // namespace lathe::cli
