// What the command line writes: data to stdout, talk to stderr, and a progress bar where stderr is a terminal.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::cli {

// All bytes to stdout. A reader that went away (`lathe … | head`) ends the program quietly, as it would any filter.
void write_data(std::string_view bytes);
void write_talk(std::string_view line);  // one line on stderr; the newline is added

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  write_talk(fmt::format(format, std::forward<Args>(args)...));
}

// "error: …" and, always, "hint: …".
std::string error_text(const base::Error& error);

// What goes on, on one line of the terminal with the time it has taken; silent elsewhere. Owned by one thread.
class StatusLine {
 public:
  explicit StatusLine(std::string what) : what_(std::move(what)), begun_(std::chrono::steady_clock::now()) {}
  ~StatusLine();  // clears the line
  StatusLine(const StatusLine&) = delete;
  static bool is_possible();
  void set(std::string_view text);
  // The line for a given state, cut to the width, for tests.
  static std::string line(std::string_view what, std::string_view text, std::chrono::seconds passed, std::size_t width);

 private:
  std::string what_;
  std::chrono::steady_clock::time_point begun_;
  bool shown_ = false;
};

// A bar on one line of the terminal; silent elsewhere. Drawn at most ten times a second. Owned by one thread.
class Progress {
 public:
  Progress(std::string_view what, std::uint64_t total_bytes);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  void add(std::uint64_t bytes);
  // The line for a given state, for tests.
  static std::string line(std::string_view what, std::uint64_t done, std::uint64_t total);

 private:
  void draw();
  std::string what_;
  std::uint64_t total_, done_ = 0;
  bool shown_ = false, enabled_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace lathe::cli
