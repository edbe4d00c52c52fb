// JSON in and out with limits and messages that help: what server, runner and command line share.
// Pure functions over strings and boost::json values; safe from any thread. Parsing never throws: it returns `invalid`
// with the field's path, the value and what was expected.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/time.h"

namespace lathe::wire {

inline constexpr std::size_t kMaxJsonBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kMaxJsonDepth = 64;

// Strict JSON: UTF-8, at most kMaxJsonDepth deep, no key twice in one object, nothing after the value.
base::Result<boost::json::value> parse_json(std::string_view text, std::size_t max_bytes = kMaxJsonBytes);
std::string to_text(const boost::json::value& value);

// Reads the fields of one object. The first mistake is kept and returned by finish(); later calls then do nothing.
// A field that is absent or null leaves its target as it was, unless need() was called for it.
//
//   Fields fields(value);
//   fields.need("id").text("id", id).integer("node_count", nodes);
//   LATHE_TRY_VOID(fields.finish());
//
// Requests refuse fields that nobody asked for; answers and stored records of a newer version pass over them.
enum class Unknown { refuse, pass };

class Fields {
 public:
  explicit Fields(const boost::json::value& value, Unknown unknown = Unknown::refuse) : Fields(value, unknown, "") {}

  bool has(std::string_view key) const;
  Fields& need(std::string_view key);
  Fields& ignore(std::string_view key);
  Fields& text(std::string_view key, std::string& out);
  Fields& integer(std::string_view key, std::int64_t& out);
  Fields& integer(std::string_view key, int& out);
  Fields& number(std::string_view key, double& out);
  Fields& boolean(std::string_view key, bool& out);
  Fields& texts(std::string_view key, std::vector<std::string>& out);
  Fields& text_map(std::string_view key, std::map<std::string, std::string>& out);
  // As text_map, where a value may be null.
  Fields& tag_map(std::string_view key, std::map<std::string, std::optional<std::string>>& out);
  // Whatever JSON is there; it lives as long as the value that these fields are read from.
  Fields& any(std::string_view key, const boost::json::value*& out);
  Fields& digest(std::string_view key, std::optional<base::Digest>& out);
  Fields& time(std::string_view key, base::UtcTime& out);
  Fields& time(std::string_view key, std::optional<base::UtcTime>& out);
  // One of a set of words; `convert` gives nothing for an unknown one, and `words` lists them for the message.
  template <class T, class Convert>
  Fields& word(std::string_view key, T& out, Convert convert, std::string_view words) {
    std::string name;
    if (!has(key)) return ignore(key);
    text(key, name);
    if (auto value = convert(name))
      out = *value;
    else
      refuse(key, words);
    return *this;
  }
  // A nested object, and the objects of an array.
  Fields& object(std::string_view key, const std::function<void(Fields&)>& read);
  Fields& objects(std::string_view key, const std::function<void(Fields&)>& read);
  // An object whose values are objects, by names that the caller chose.
  Fields& object_map(std::string_view key, const std::function<void(const std::string& name, Fields&)>& read);

  // The first mistake, or a field that nobody asked for.
  base::Result<void> finish() const;

 private:
  // `path` names a nested object in messages, e.g. "retries".
  Fields(const boost::json::value& value, Unknown unknown, std::string path);
  const boost::json::value* find(std::string_view key);
  void refuse(std::string_view key, std::string_view expected);
  void keep(base::Error error);
  std::string full_name(std::string_view key) const;

  const boost::json::object* object_ = nullptr;
  Unknown unknown_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
  std::optional<base::Error> error_;
};

}  // namespace lathe::wire
