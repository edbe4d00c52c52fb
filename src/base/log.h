// Structured log lines, one JSON object each, to standard error or to a file that is rotated. Thread-safe. Values are
// escaped; secrets must never be passed in.
// Nobody ever waits for a reader: a line that a pipe, socket or terminal does not take at once is dropped, and the next
// one that is taken says how many were. A log that cannot be written must not stop the work that it tells of.
#pragma once

#include <fmt/format.h>

#include <cstdint>
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

// Standard error becomes this file, also for what this process starts from now on. When it has grown to `most_bytes` it
// becomes PATH.1, what was that PATH.2, and so on to PATH.`kept`; older ones are gone. 0, or the error number.
int use_file(std::string path, std::uint64_t most_bytes = 64u << 20, int kept = 4);
// Opens the file anew, for tools that have moved it away. Nothing without one.
void reopen();

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
