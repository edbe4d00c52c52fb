#include "cli/json.h"

#include <fmt/format.h>

namespace lathe::cli {
namespace {

void append(std::string& out, const json::value& value, std::size_t depth);

template <class Items, class One>
void append_items(std::string& out, const Items& items, char open, char close, std::size_t depth, One one) {
  out += open;
  bool first = true;
  for (const auto& item : items) {
    out += first ? "\n" : ",\n";
    out.append((depth + 1) * 2, ' ');
    one(item);
    first = false;
  }
  if (!first) out.append(1, '\n').append(depth * 2, ' ');
  out += close;
}

void append(std::string& out, const json::value& value, std::size_t depth) {
  if (const auto* object = value.if_object()) {
    append_items(out, *object, '{', '}', depth, [&](const json::key_value_pair& pair) {
      out += json::serialize(pair.key());
      out += ": ";
      append(out, pair.value(), depth + 1);
    });
  } else if (const auto* array = value.if_array()) {
    append_items(out, *array, '[', ']', depth, [&](const json::value& item) { append(out, item, depth + 1); });
  } else if (const auto* number = value.if_double()) {
    out += fmt::format("{}", *number);  // 0.1, not 1E-1
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

base::Result<json::value> parse_json(std::string_view text, std::string_view what) {
  boost::system::error_code error;
  auto value = json::parse({text.data(), text.size()}, error);
  if (error) return base::fail(base::Code::corrupt, "{} is not JSON: {}", what, error.message());
  return value;
}

std::string pretty_json(const json::value& value) {
  std::string out;
  append(out, value, 0);
  return out + "\n";
}

std::string text_at(const json::value& value, std::string_view pointer) {
  boost::system::error_code error;
  const json::value* found = pointer.empty() ? &value : value.find_pointer({pointer.data(), pointer.size()}, error);
  if (!found || found->is_null()) return "";
  if (const auto* text = found->if_string()) return std::string(text->data(), text->size());
  if (const auto* number = found->if_double()) return fmt::format("{}", *number);
  return json::serialize(*found);
}

}  // namespace lathe::cli
