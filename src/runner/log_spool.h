// LogSpool: the log of a run as files log.0, log.1, … in the spool, each of at most segment_bytes, only ever appended
// to. pump() moves what is in the script's pipe into them without copying it through this process (splice). When the
// disk is full, bytes are dropped and counted, the script is not held up, and a marker line takes their place as soon
// as there is room. Secrets that the run was given are hidden on the way; from the first one on, bytes do pass through
// this process. Written by the main thread; end() may be read by any.
//
// A segment has one writer in its life. The server may hard-link it and make the very file a blob of its store, and
// nobody but the server knows when; so whoever comes after the runner (its guardian, an adopter), and the runner itself
// once it has handed the log over, adds to the log only in a segment of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
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
  // A line of our own. One that an earlier writer has ended the log with is not added again.
  void add_line(std::string_view text);
  // No more bytes will come; writes what was kept back and the marker that is still owed.
  void close();
  // Goes on behind what an earlier writer left, which is only read. The server has sealed so many segments.
  base::Result<void> reopen(std::uint64_t sealed = 0);
  // The segments so far are complete: from now on the server may seal the last one, too.
  void hand_over();
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
  std::map<std::uint64_t, std::uint64_t> sizes_on_disk() const;
  char last_byte() const;
  std::string read_tail(std::size_t most) const;

  const std::filesystem::path folder_;
  const std::uint64_t segment_bytes_;
  LogRedactor* const redactor_;
  sys::Fd file_;                              // the segment that is written; none: the next byte begins one
  std::multiset<std::string> written_before_;  // lines of our own that the log of an earlier writer ends with
  bool can_splice_ = true;
  std::uint64_t lost_ = 0;
  base::Duration marker_tried_{};
  std::uint64_t before_ = 0;           // bytes in earlier segments
  std::atomic<std::uint64_t> end_{0};  // segment << 40 | offset, so that both are read together
};

}  // namespace lathe::runner
