#include "envs/toml.h"

#include <boost/json.hpp>
#include <stdexcept>

namespace lathe::envs {
namespace {

namespace json = boost::json;

constexpr int kMaxDepth = 20;

struct Bad : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  json::object document() {
    json::object root;
    json::object* table = &root;
    for (skip(true); at_ < text_.size(); skip(true)) {
      if (text_.substr(at_).starts_with("[[")) {
        at_ += 2;
        auto& list = root[key()];
        expect("]]");
        if (!list.is_array()) list.emplace_array();
        list.get_array().emplace_back(json::object());
        table = &list.get_array().back().get_object();
      } else if (peek() == '[') {
        ++at_;
        auto& place = root[key()];
        expect("]");
        place.emplace_object();
        table = &place.get_object();
      } else {
        member(*table, 0);
      }
    }
    return root;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void expect(std::string_view word) {
    skip(false);
    if (!text_.substr(at_).starts_with(word)) throw Bad(fmt::format("'{}' is missing at byte {}", word, at_));
    at_ += word.size();
  }
  void skip(bool lines) {
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      else if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r')))
        return;
    }
  }
  std::string key() {
    skip(false);
    if (peek() == '"') return string();
    auto end = text_.find_first_of(" \t=].\n", at_);
    if (end == std::string_view::npos || end == at_) throw Bad(fmt::format("a key is missing at byte {}", at_));
    std::string out(text_.substr(at_, end - at_));
    at_ = end;
    skip(false);
    if (peek() == '.') throw Bad("dotted keys are not expected");
    return out;
  }
  void member(json::object& table, int depth) {
    std::string name = key();
    expect("=");
    table[name] = value(depth + 1);
  }
  json::value value(int depth) {
    if (depth > kMaxDepth) throw Bad("too deep");
    skip(false);
    if (peek() == '"' || peek() == '\'') return json::string(string());
    if (peek() == '[') return list(depth);
    if (peek() == '{') return inline_table(depth);
    auto end = std::min(text_.find_first_of(",]}\n#", at_), text_.size());
    std::string_view word = text_.substr(at_, end - at_);
    while (word.ends_with(' ') || word.ends_with('\r')) word.remove_suffix(1);
    if (word.empty()) throw Bad(fmt::format("a value is missing at byte {}", at_));
    at_ = end;
    return json::string(word);
  }
  json::value list(int depth) {
    json::array out;
    for (++at_, skip(true); peek() != ']'; skip(true)) {
      out.push_back(value(depth + 1));
      skip(true);
      if (peek() == ',')
        ++at_;
      else if (peek() != ']')
        throw Bad(fmt::format("a list does not end at byte {}", at_));
    }
    ++at_;
    return out;
  }
  json::value inline_table(int depth) {
    json::object out;
    for (++at_, skip(true); peek() != '}'; skip(true)) {
      member(out, depth);
      skip(true);
      if (peek() == ',')
        ++at_;
      else if (peek() != '}')
        throw Bad(fmt::format("a table does not end at byte {}", at_));
    }
    ++at_;
    return out;
  }
  std::string string() {
    const char quote = text_[at_];
    std::string out;
    for (++at_; peek() != quote; ++at_) {
      if (at_ >= text_.size() || text_[at_] == '\n') throw Bad("a string does not end");
      if (text_[at_] == '\\' && quote == '"') {
        ++at_;
        const char c = peek();
        if (c != '"' && c != '\\') throw Bad("an escape that is not expected");
      }
      out.push_back(text_[at_]);
    }
    ++at_;
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

base::Result<json::object> parse_toml(std::string_view text) {
  try {
    return Parser(text).document();
  } catch (const Bad& problem) {
    return base::fail(base::Code::corrupt, "this is not the TOML that was expected: {}", problem.what());
  }
}

}  // namespace lathe::envs
