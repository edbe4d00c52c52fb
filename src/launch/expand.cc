#include "launch/expand.h"

namespace lathe::launch {
namespace {

bool is_name_start(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name_part(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

std::size_t name_length(std::string_view text) {
  if (text.empty() || !is_name_start(text[0])) return 0;
  std::size_t length = 1;
  while (length < text.size() && is_name_part(text[length])) ++length;
  return length;
}

}  // namespace

std::string expand_variables(std::string_view text, const std::map<std::string, std::string>& variables) {
  std::string out;
  while (!text.empty()) {
    std::size_t dollar = text.find('$');
    out += text.substr(0, dollar);
    if (dollar == text.npos) break;
    text.remove_prefix(dollar);
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
      continue;
    }
    const bool braced = text.starts_with("${");
    const std::size_t skip = braced ? 2 : 1;
    std::string_view name = text.substr(skip, name_length(text.substr(skip)));
    const bool closed = !braced || text.substr(skip + name.size()).starts_with('}');
    const std::size_t whole = closed ? skip + name.size() + (braced ? 1 : 0) : 1;
    auto value = name.empty() || !closed ? variables.end() : variables.find(std::string(name));
    out += value == variables.end() ? text.substr(0, name.empty() ? 1 : whole) : std::string_view(value->second);
    text.remove_prefix(name.empty() ? 1 : whole);
  }
  return out;
}

}  // namespace lathe::launch
