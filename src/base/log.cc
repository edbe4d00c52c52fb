#include "base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>

#include "base/strings.h"
#include "base/time.h"

namespace lathe::base::log {
namespace {

std::atomic<Level> minimum{Level::info};
constexpr std::array<std::string_view, 4> kWords{"debug", "info", "warn", "error"};

void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (char c : printable(text, 4096)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

}  // namespace

void set_level(Level level) { minimum = level; }

bool set_level(std::string_view word) {
  for (std::size_t i = 0; i < kWords.size(); ++i)
    if (kWords[i] == word) return set_level(static_cast<Level>(i)), true;
  return false;
}

void write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (level < minimum.load(std::memory_order_relaxed)) return;
  using namespace std::chrono;
  auto now = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  std::string line =
      fmt::format(R"({{"time":"{}","level":"{}","event":)", format_utc({now}), kWords[static_cast<std::size_t>(level)]);
  append_json(line, event);
  for (const auto& field : fields) {
    line += ',';
    append_json(line, field.key);
    line += ':';
    append_json(line, field.value);
  }
  line += "}\n";
  // A log that cannot be written must not stop the work it tells of.
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace lathe::base::log
