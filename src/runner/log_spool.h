// LogSpool: the log of a run as files log.0, log.1, … in the spool, each of at most segment_bytes, only ever appended
// to. pump() moves what is in the script's pipe into them without copying it through this process (splice). When the
// disk is full, bytes are dropped and counted, the script is not held up, and a marker line takes their place as soon
// as there is room. Secrets that the run was given are hidden on the way; from the first one on, bytes do pass through
// this process. Written by the main thread; end() may be read by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "runner/log_redactor.h"
#include "runner/server_link.h"
#include "sys/fd.h"

namespace lathe::runner {

class LogSpool {
 public:
  // Without a redactor for a log that is complete but for lines of our own.
  LogSpool(std::filesystem::path folder, std::uint64_t segment_bytes, LogRedactor* redactor = nullptr);

  enum class Pumped { some, nothing, end };
  // Takes up to 1 MiB. The pipe must not block.
  Pumped pump(int pipe);
  // A line of our own.
  void add_line(std::string_view text);
  // No more bytes will come; writes what was kept back and the marker that is still owed.
  void close();
  // Goes on where an earlier runner stopped.
  base::Result<void> reopen();
  // For the guardian, when the runner was killed: what was left in the pipe joins the log that the runner left.
  void save_rest(int pipe);

  // Whether bytes were dropped whose marker is not written yet.
  bool owes_marker() const { return lost_ > 0; }
  // Where the log ends: bytes before this are in the files.
  LogStand end() const;
  std::filesystem::path segment_path(std::uint64_t segment) const;
  // Size of the whole log and how many segments have bytes.
  LogTotals totals() const;

 private:
  Pumped pump_plain(int pipe);
  Pumped pump_redacted(int pipe);
  void write_redacted(bool last);
  bool open_segment();
  bool write_whole(std::string_view bytes);
  bool write_in_segments(std::string_view bytes);
  Pumped drop(int pipe);
  bool write_marker();
  void advance(std::uint64_t bytes);

  const std::filesystem::path folder_;
  const std::uint64_t segment_bytes_;
  LogRedactor* const redactor_;
  sys::Fd file_;
  bool can_splice_ = true;
  std::uint64_t lost_ = 0;
  base::Duration marker_tried_{};
  std::uint64_t before_ = 0;           // bytes in earlier segments
  std::atomic<std::uint64_t> end_{0};  // segment << 40 | offset, so that both are read together
};

}  // namespace lathe::runner
