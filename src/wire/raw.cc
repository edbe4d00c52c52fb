#include "wire/raw.h"

#include <boost/json.hpp>

#include "base/check.h"

namespace lathe::wire {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Goes over valid JSON; what it meets is only told apart as far as the search needs.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  char next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void skip() { ++at_; }

  // The string literal here, with its quotes.
  std::string_view literal() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
    return text_.substr(begin, at_ - begin);
  }

  // The value here, up to the comma or brace that ends it.
  std::string value() {
    std::string out;
    for (int depth = 0;;) {
      const char c = next();
      if (c == '\0' || (depth == 0 && (c == ',' || c == '}'))) return out;
      if (c == '"') {
        out += literal();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      out += c;
      skip();
    }
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

bool names(std::string_view literal, std::string_view key) {
  if (literal.find('\\') == literal.npos) return literal.substr(1, literal.size() - 2) == key;
  boost::system::error_code failed;
  const auto decoded = boost::json::parse(literal, failed);
  return !failed && decoded.is_string() && std::string_view(decoded.get_string()) == key;
}

}  // namespace

std::string raw_member(std::string_view text, std::string_view key) {
  Scanner scanner(text);
  LATHE_CHECK(scanner.next() == '{', "not an object");
  scanner.skip();
  while (scanner.next() == '"') {
    const bool found = names(scanner.literal(), key);
    LATHE_CHECK(scanner.next() == ':', "not a member");
    scanner.skip();
    auto value = scanner.value();
    if (found) return value;
    if (scanner.next() == ',') scanner.skip();
  }
  return {};
}

std::string with_raw_member(std::string text, std::string_view key, std::string_view raw) {
  LATHE_CHECK(text.size() > 2 && text.ends_with('}'), "not an object with members");
  text.pop_back();
  text += ",\"";
  text += key;
  text += "\":";
  text += raw;
  text += '}';
  return text;
}

}  // namespace lathe::wire
