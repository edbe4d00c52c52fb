// Structured log lines, one JSON object each, to a file descriptor (stderr unless told). Thread-safe: one write(2) a
// line. Values are escaped; secrets must never be passed in.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace lathe::base::log {

enum class Level { debug, info, warn, error };

struct Field {
  std::string_view key;
  std::string value;

  template <class T>
  Field(std::string_view name, const T& v) : key(name), value(fmt::format("{}", v)) {}
};

void set_level(Level level);
// Unknown words are refused with false.
bool set_level(std::string_view word);
void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});

inline void debug(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::debug, event, fields);
}
inline void info(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::info, event, fields);
}
inline void warn(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::warn, event, fields);
}
inline void error(std::string_view event, std::initializer_list<Field> fields = {}) {
  write(Level::error, event, fields);
}

}  // namespace lathe::base::log
