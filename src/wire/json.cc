#include "wire/json.h"

#include <boost/json.hpp>
#include <cmath>
#include <limits>

#include "base/strings.h"

namespace lathe::wire {
namespace {

namespace json = boost::json;
using base::Code;
using base::Error;

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

// The value as a message shows it: short, safe for a terminal.
std::string shown(const json::value& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return base::printable(json::serialize(value), 80);
}

std::optional<std::int64_t> whole_number(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  // 3.0 is the whole number 3 (JSON has one number type); beyond 2^53 a double no longer says which number was meant.
  if (value.is_double() && std::abs(value.get_double()) <= 9007199254740992.0 &&
      std::trunc(value.get_double()) == value.get_double())
    return static_cast<std::int64_t>(value.get_double());
  return std::nullopt;
}

}  // namespace

Fields::Fields(const json::value& value, Unknown unknown, std::string path)
    : unknown_(unknown), path_(std::move(path)) {
  if (value.is_object())
    object_ = &value.get_object();
  else
    keep(Error(Code::invalid,
               fmt::format("{} is {}; an object is expected", path_.empty() ? "the body" : path_, shown(value)))
             .field(path_));
}

std::string Fields::full_name(std::string_view key) const {
  std::string name = base::printable(key, 80);
  return path_.empty() ? name : path_ + "." + name;
}

void Fields::keep(Error error) {
  if (!error_) error_ = std::move(error);
}

void Fields::refuse(std::string_view key, std::string_view expected) {
  keep(Error(Code::invalid, fmt::format("{} is {}; expected {}", full_name(key), shown(object_->at(key)), expected))
           .field(full_name(key))
           .hint(fmt::format("give {} as {}", full_name(key), expected)));
}

bool Fields::has(std::string_view key) const {
  if (!object_) return false;
  const json::value* value = object_->if_contains(key);
  return value && !value->is_null();
}

const json::value* Fields::find(std::string_view key) {
  known_.emplace(key);
  if (error_ || !has(key)) return nullptr;
  return object_->if_contains(key);
}

Fields& Fields::need(std::string_view key) {
  if (!has(key))
    keep(Error(Code::invalid, fmt::format("{} is missing", full_name(key)))
             .field(full_name(key))
             .hint("this field must be given"));
  return *this;
}

Fields& Fields::ignore(std::string_view key) {
  known_.emplace(key);
  return *this;
}

Fields& Fields::text(std::string_view key, std::string& out) {
  const json::value* value = find(key);
  if (!value) return *this;
  if (value->is_string())
    out = view(value->get_string());
  else
    refuse(key, "a string");
  return *this;
}

Fields& Fields::integer(std::string_view key, std::int64_t& out) {
  const json::value* value = find(key);
  if (!value) return *this;
  if (auto whole = whole_number(*value))
    out = *whole;
  else
    refuse(key, "a whole number");
  return *this;
}

Fields& Fields::integer(std::string_view key, int& out) {
  std::int64_t wide = out;
  integer(key, wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
    refuse(key, "a whole number of 32 bits");
  else
    out = static_cast<int>(wide);
  return *this;
}

Fields& Fields::number(std::string_view key, double& out) {
  const json::value* value = find(key);
  if (!value) return *this;
  if (value->is_number())
    out = value->to_number<double>();
  else
    refuse(key, "a number");
  return *this;
}

Fields& Fields::boolean(std::string_view key, bool& out) {
  const json::value* value = find(key);
  if (!value) return *this;
  if (value->is_bool())
    out = value->get_bool();
  else
    refuse(key, "true or false");
  return *this;
}

Fields& Fields::texts(std::string_view key, std::vector<std::string>& out) {
  const json::value* value = find(key);
  if (!value) return *this;
  if (!value->is_array()) return refuse(key, "an array of strings"), *this;
  out.clear();
  for (const auto& element : value->get_array()) {
    if (!element.is_string()) return refuse(key, "an array of strings"), *this;
    out.emplace_back(view(element.get_string()));
  }
  return *this;
}

Fields& Fields::text_map(std::string_view key, std::map<std::string, std::string>& out) {
  const json::value* value = find(key);
  if (!value) return *this;
  if (!value->is_object()) return refuse(key, "an object of strings"), *this;
  out.clear();
  for (const auto& [name, element] : value->get_object()) {
    if (!element.is_string())
      return refuse(key, fmt::format("an object of strings ('{}' is not one)", base::printable(name, 80))), *this;
    out.emplace(name, view(element.get_string()));
  }
  return *this;
}

Fields& Fields::tag_map(std::string_view key, std::map<std::string, std::optional<std::string>>& out) {
  const json::value* value = find(key);
  if (!value) return *this;
  if (!value->is_object()) return refuse(key, "an object of strings"), *this;
  out.clear();
  for (const auto& [name, element] : value->get_object()) {
    if (!element.is_string() && !element.is_null())
      return refuse(key, fmt::format("an object of strings ('{}' is not one)", base::printable(name, 80))), *this;
    out.emplace(name, element.is_null() ? std::nullopt : std::optional<std::string>(view(element.get_string())));
  }
  return *this;
}

Fields& Fields::any(std::string_view key, const json::value*& out) {
  if (const json::value* value = find(key)) out = value;
  return *this;
}

Fields& Fields::digest(std::string_view key, std::optional<base::Digest>& out) {
  const json::value* value = find(key);
  if (!value) return *this;
  auto parsed =
      value->is_string() ? base::Digest::parse(view(value->get_string())) : base::fail(Code::invalid, "not a string");
  if (parsed)
    out = *parsed;
  else
    refuse(key, "a SHA-256 digest of 64 lower-case hex characters");
  return *this;
}

Fields& Fields::time(std::string_view key, base::UtcTime& out) {
  const json::value* value = find(key);
  if (!value) return *this;
  auto parsed = value->is_string() ? base::parse_utc(view(value->get_string())) : std::nullopt;
  if (parsed)
    out = *parsed;
  else
    refuse(key, "a time like 2026-02-19T19:09:19.200602Z");
  return *this;
}

Fields& Fields::time(std::string_view key, std::optional<base::UtcTime>& out) {
  if (!has(key)) return ignore(key);
  return time(key, out.emplace());
}

Fields& Fields::object(std::string_view key, const std::function<void(Fields&)>& read) {
  const json::value* value = find(key);
  if (!value) return *this;
  Fields nested(*value, unknown_, full_name(key));
  if (!nested.error_) read(nested);
  if (auto result = nested.finish(); !result) keep(std::move(result).error());
  return *this;
}

Fields& Fields::objects(std::string_view key, const std::function<void(Fields&)>& read) {
  const json::value* value = find(key);
  if (!value) return *this;
  if (!value->is_array()) return refuse(key, "an array of objects"), *this;
  std::size_t index = 0;
  for (const auto& element : value->get_array()) {
    Fields nested(element, unknown_, fmt::format("{}[{}]", full_name(key), index++));
    if (!nested.error_) read(nested);
    if (auto result = nested.finish(); !result) return keep(std::move(result).error()), *this;
  }
  return *this;
}

Fields& Fields::object_map(std::string_view key, const std::function<void(const std::string&, Fields&)>& read) {
  const json::value* value = find(key);
  if (!value) return *this;
  if (!value->is_object()) return refuse(key, "an object of objects"), *this;
  for (const auto& entry : value->get_object()) {
    const std::string name(entry.key());
    Fields nested(entry.value(), unknown_, fmt::format("{}.{}", full_name(key), base::printable(name, 80)));
    if (!nested.error_) read(name, nested);
    if (auto result = nested.finish(); !result) return keep(std::move(result).error()), *this;
  }
  return *this;
}

base::Result<void> Fields::finish() const {
  if (error_) return base::fail(*error_);
  if (unknown_ == Unknown::pass) return {};
  for (const auto& field : *object_)
    if (std::string_view key(field.key().data(), field.key().size()); !known_.contains(key))
      return base::fail(Error(Code::invalid, fmt::format("the field '{}' is not known", full_name(key)))
                            .field(full_name(key))
                            .hint(fmt::format("known fields are {}", fmt::join(known_, ", "))));
  return {};
}

}  // namespace lathe::wire
