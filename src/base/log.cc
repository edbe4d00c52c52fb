#include "base/log.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>

#include "base/log_sink.h"
#include "base/strings.h"
#include "base/time.h"

namespace lathe::base::log {
namespace {

std::atomic<Level> minimum{Level::info};
constexpr std::array<std::string_view, 4> kWords{"debug", "info", "warn", "error"};

// Never destroyed: threads may log while the process ends.
struct Shared {
  std::mutex mutex;
  Sink sink;
};

Shared& shared() {
  static Shared* made = [] {
    // A process that is forked while another thread logs gets a sink that nobody holds.
    static Shared* only = new Shared;
    ::pthread_atfork([] { only->mutex.lock(); }, [] { only->mutex.unlock(); }, [] { only->mutex.unlock(); });
    return only;
  }();
  return *made;
}

void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (char c : printable(text, 4096)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

std::string make_line(Level level, std::string_view event, std::initializer_list<Field> fields) {
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
  return line;
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
  const auto line = make_line(level, event, fields);
  auto& [mutex, sink] = shared();
  const std::lock_guard lock(mutex);
  if (const auto dropped = sink.dropped(); dropped > 0)
    sink.put(make_line(Level::warn, "log lines were dropped: nobody read them", {{"count", dropped}}) + line);
  else
    sink.put(line);
}

int use_file(std::string path, std::uint64_t most_bytes, int kept) {
  auto& [mutex, sink] = shared();
  const std::lock_guard lock(mutex);
  return sink.use_file(std::move(path), most_bytes, kept);
}

void reopen() {
  auto& [mutex, sink] = shared();
  const std::lock_guard lock(mutex);
  sink.reopen();
}

}  // namespace lathe::base::log
