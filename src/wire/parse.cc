// The strict parser: Boost.JSON keeps the last of two equal keys silently, which lets two readers of one request see
// different things; here the second one is refused.
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_stack.hpp>
#include <unordered_set>

#include "base/strings.h"
#include "wire/json.h"

namespace lathe::wire {
namespace {

namespace json = boost::json;
using json::error_code;
using json::string_view;

struct Builder {
  static constexpr std::size_t max_object_size = 100'000;
  static constexpr std::size_t max_array_size = 1'000'000;
  static constexpr std::size_t max_key_size = 64 * 1024;
  static constexpr std::size_t max_string_size = kMaxJsonBytes;

  json::value_stack stack;
  std::vector<std::unordered_set<std::string>> keys;
  std::string key;
  std::optional<std::string> duplicate;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return keys.emplace_back(), true; }
  bool on_object_end(std::size_t n, error_code&) { return keys.pop_back(), stack.push_object(n), true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t n, error_code&) { return stack.push_array(n), true; }
  bool on_key_part(string_view part, std::size_t, error_code&) {
    return key.append(part), stack.push_chars(part), true;
  }
  bool on_key(string_view part, std::size_t, error_code& error) {
    key.append(part);
    stack.push_key(part);
    if (!keys.back().insert(key).second) {
      duplicate = key;
      error = json::error::extra_data;
      return false;
    }
    key.clear();
    return true;
  }
  bool on_string_part(string_view part, std::size_t, error_code&) { return stack.push_chars(part), true; }
  bool on_string(string_view part, std::size_t, error_code&) { return stack.push_string(part), true; }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t value, string_view, error_code&) { return stack.push_int64(value), true; }
  bool on_uint64(std::uint64_t value, string_view, error_code&) { return stack.push_uint64(value), true; }
  bool on_double(double value, string_view, error_code&) { return stack.push_double(value), true; }
  bool on_bool(bool value, error_code&) { return stack.push_bool(value), true; }
  bool on_null(error_code&) { return stack.push_null(), true; }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }
};

std::string_view why(const error_code& error) {
  if (error == json::error::too_deep) return "it is nested too deeply";
  if (error == json::error::incomplete) return "it ends too early";
  if (error == json::error::illegal_leading_surrogate || error == json::error::illegal_trailing_surrogate)
    return "it has half of a surrogate pair";
  if (error == json::error::array_too_large || error == json::error::object_too_large ||
      error == json::error::key_too_large || error == json::error::string_too_large)
    return "a part of it is too large";
  return "it is not valid JSON in UTF-8";
}

}  // namespace

base::Result<json::value> parse_json(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes)
    return base::fail(base::Error(base::Code::too_large,
                                  fmt::format("the JSON has {} bytes; at most {} are allowed", text.size(), max_bytes))
                          .hint("send less at once"));
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::basic_parser<Builder> parser(options);
  parser.handler().stack.reset();
  error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  Builder& builder = parser.handler();
  if (builder.duplicate)
    return base::fail(base::Error(base::Code::invalid,
                                  fmt::format("the field '{}' is there twice", base::printable(*builder.duplicate, 80)))
                          .field(base::printable(*builder.duplicate, 80))
                          .hint("give every field once"));
  const bool extra = !error && used < text.size() && !base::trim(text.substr(used)).empty();
  if (error || extra)
    return base::fail(
        base::Error(base::Code::invalid, fmt::format("the body cannot be read as JSON at byte {}: {}", used,
                                                     extra ? "something follows the value" : why(error)))
            .hint("send one JSON value in UTF-8"));
  return builder.stack.release();
}

std::string to_text(const json::value& value) { return json::serialize(value); }

}  // namespace lathe::wire
