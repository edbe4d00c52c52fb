#include "runner/log_spool.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "sys/clock.h"

namespace lathe::runner {
namespace {

constexpr int kOffsetBits = 40;
constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kOffsetBits) - 1;
constexpr std::size_t kPumpBytes = 1 << 20;
constexpr base::Duration kMarkerPeriod = std::chrono::milliseconds(100);
constexpr std::string_view kOwnLine = "[lathe: ";
// Far more than lines of our own take; what lies before it is the script's.
constexpr std::size_t kTailBytes = 16 << 20;

std::uint64_t size_of(const std::filesystem::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// The lines of our own at the end of `tail`, each whole.
std::multiset<std::string> own_lines_at_end(std::string_view tail) {
  std::multiset<std::string> out;
  while (tail.ends_with('\n')) {
    tail.remove_suffix(1);
    const auto begin = tail.rfind('\n');
    if (begin == tail.npos && !tail.starts_with(kOwnLine)) break;
    const auto line = begin == tail.npos ? tail : tail.substr(begin + 1);
    if (!line.starts_with(kOwnLine)) break;
    out.emplace(line);
    tail.remove_suffix(line.size());
  }
  return out;
}

}  // namespace

LogSpool::LogSpool(std::filesystem::path folder, std::uint64_t segment_bytes, LogRedactor* redactor)
    : folder_(std::move(folder)),
      segment_bytes_(std::clamp<std::uint64_t>(segment_bytes, 4096, kOffsetMask)),
      redactor_(redactor) {}

std::filesystem::path LogSpool::segment_path(std::uint64_t segment) const {
  return folder_ / fmt::format("log.{}", segment);
}

LogStand LogSpool::end() const {
  std::uint64_t packed = end_.load(std::memory_order_acquire);
  return {packed >> kOffsetBits, packed & kOffsetMask};
}

LogTotals LogSpool::totals() const {
  LogStand at = end();
  return {at.segment + (at.offset > 0 ? 1 : 0), before_ + at.offset};
}

void LogSpool::advance(std::uint64_t bytes) { end_.fetch_add(bytes, std::memory_order_release); }

// The file of the next byte: a new one when there is none, or the current is full.
bool LogSpool::open_segment() {
  LogStand at = end();
  if (file_ && at.offset < segment_bytes_) return true;
  std::uint64_t segment = at.segment + (at.offset > 0 ? 1 : 0);
  const auto path = segment_path(segment);
  if (!file_) ::unlink(path.c_str());  // an empty one of an earlier writer, to which the server may have another name
  sys::Fd next(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!next) return false;
  if (at.offset > 0) {
    before_ += at.offset;
    end_.store(segment << kOffsetBits, std::memory_order_release);
  }
  file_ = std::move(next);
  return true;
}

void LogSpool::hand_over() { file_.reset(); }

LogSpool::Pumped LogSpool::pump(int pipe) {
  if (!redactor_) return pump_plain(pipe);
  auto lock = redactor_->lock();  // a secret that is told of now counts for what is read next
  return redactor_->is_used() ? pump_redacted(pipe) : pump_plain(pipe);
}

LogSpool::Pumped LogSpool::pump_redacted(int pipe) {
  if ((lost_ > 0 && !write_marker()) || !open_segment()) return drop(pipe);
  const ssize_t taken = redactor_->take(pipe, totals().size);
  if (taken == 0) return Pumped::end;
  if (taken < 0) return errno == EAGAIN || errno == EINTR ? Pumped::nothing : drop(pipe);
  write_redacted(false);
  return Pumped::some;
}

void LogSpool::write_redacted(bool last) {
  auto hidden = redactor_->hide(totals().size, last);
  if (write_in_segments(hidden.text))
    redactor_->written(hidden, totals().size);
  else
    lost_ += redactor_->give_up();
}

bool LogSpool::write_in_segments(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!open_segment()) return false;
    const auto piece = bytes.substr(0, segment_bytes_ - end().offset);
    if (!write_whole(piece)) return false;
    bytes.remove_prefix(piece.size());
  }
  return true;
}

LogSpool::Pumped LogSpool::pump_plain(int pipe) {
  if (!file_ && lost_ == 0) {  // a run that says nothing costs no file
    pollfd wait{pipe, POLLIN, 0};
    if (::poll(&wait, 1, 0) < 0 || (wait.revents & POLLIN) == 0)
      return (wait.revents & POLLHUP) != 0 ? Pumped::end : Pumped::nothing;
  }
  if (lost_ > 0 && !write_marker()) return drop(pipe);
  if (!open_segment()) return drop(pipe);
  const std::size_t room = std::min<std::uint64_t>(kPumpBytes, segment_bytes_ - end().offset);
  ssize_t moved;
  if (can_splice_) {
    moved = ::splice(pipe, nullptr, file_.get(), nullptr, room, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (moved < 0 && errno == EINVAL) can_splice_ = false;
  }
  if (!can_splice_) {
    char buffer[64 * 1024];
    moved = ::read(pipe, buffer, std::min(room, sizeof buffer));
    if (moved > 0 && !write_whole({buffer, static_cast<std::size_t>(moved)})) {
      lost_ += static_cast<std::uint64_t>(moved);
      return Pumped::some;
    }
    if (moved > 0) return Pumped::some;
  }
  if (moved == 0) return Pumped::end;
  if (moved < 0) return errno == EAGAIN || errno == EINTR ? Pumped::nothing : drop(pipe);
  advance(static_cast<std::uint64_t>(moved));
  return Pumped::some;
}

// A full disk, or a broken one: the script goes on, and what it says is counted.
LogSpool::Pumped LogSpool::drop(int pipe) {
  if (redactor_) lost_ += redactor_->give_up();
  char buffer[64 * 1024];
  ssize_t n = ::read(pipe, buffer, sizeof buffer);
  if (n > 0) lost_ += static_cast<std::uint64_t>(n);
  return n > 0 ? Pumped::some : n == 0 ? Pumped::end : Pumped::nothing;
}

bool LogSpool::write_marker() {
  // Not for every piece of a flood: each try costs a write.
  const base::Duration now = sys::boot_time();
  if (now - marker_tried_ < kMarkerPeriod) return false;
  marker_tried_ = now;
  std::string marker =
      fmt::format("{}{}{} bytes of output lost: disk full]\n", last_byte() == '\n' ? "" : "\n", kOwnLine, lost_);
  if (!open_segment() || !write_whole(marker)) return false;
  lost_ = 0;
  return true;
}

// All of it or nothing, so that a marker is never cut.
bool LogSpool::write_whole(std::string_view bytes) {
  const auto before = static_cast<off_t>(end().offset);
  for (std::size_t done = 0; done < bytes.size();) {
    ssize_t n = ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done, before + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      (void)!::ftruncate(file_.get(), before);
      ::lseek(file_.get(), before, SEEK_SET);
      return false;
    }
    done += static_cast<std::size_t>(n);
  }
  ::lseek(file_.get(), before + static_cast<off_t>(bytes.size()), SEEK_SET);
  advance(bytes.size());
  return true;
}

void LogSpool::add_line(std::string_view text) {
  if (auto known = written_before_.find(std::string(text)); known != written_before_.end()) {
    written_before_.erase(known);
    return;
  }
  if (lost_ > 0 && !write_marker()) return;
  const char* line_break = last_byte() == '\n' ? "" : "\n";
  if (open_segment()) write_whole(fmt::format("{}{}\n", line_break, text));
}

std::string LogSpool::read_tail(std::size_t most) const {
  std::string tail;
  for (std::uint64_t next = end().segment + 1; next > 0 && tail.size() < most; --next) {
    sys::Fd file(::open(segment_path(next - 1).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    const std::uint64_t size = size_of(segment_path(next - 1));
    if (size == 0) continue;  // the one that the next byte begins
    std::string piece(std::min<std::uint64_t>(size, most - tail.size()), '\0');
    const auto from = static_cast<off_t>(size - piece.size());
    const ssize_t n = file ? ::pread(file.get(), piece.data(), piece.size(), from) : -1;
    if (n != static_cast<ssize_t>(piece.size())) break;
    tail = piece + tail;
  }
  return tail;
}

char LogSpool::last_byte() const {
  auto last = read_tail(1);
  return last.empty() ? '\n' : last[0];
}

void LogSpool::close() {
  if (redactor_) {
    auto lock = redactor_->lock();
    if (redactor_->is_used()) write_redacted(true);
  }
  marker_tried_ = {};
  if (lost_ > 0) write_marker();
}

void LogSpool::save_rest(int pipe) {
  if (reopen()) {
    if (redactor_) redactor_->reload();
    if (redactor_ && redactor_->is_used()) write_redacted(false);
    while (pump(pipe) == Pumped::some) {
    }
  }
  close();
}

std::map<std::uint64_t, std::uint64_t> LogSpool::sizes_on_disk() const {
  std::map<std::uint64_t, std::uint64_t> sizes;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(folder_, failed);
       !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const auto name = entry->path().filename().string();
    if (auto number = name.starts_with("log.") ? base::parse_u64(name.substr(4)) : std::nullopt)
      sizes[*number] = size_of(entry->path());
  }
  return sizes;
}

// A power cut may leave an empty file, or none, where bytes were. The server takes segments in order and none without
// bytes, so those that it has not sealed close up.
base::Result<void> LogSpool::reopen(std::uint64_t sealed) {
  file_.reset();
  before_ = 0;
  std::uint64_t next = sealed, last = 0;
  for (const auto& [segment, size] : sizes_on_disk()) {
    if (segment >= sealed && size == 0) continue;
    before_ += std::exchange(last, size);
    if (segment < sealed) continue;
    if (segment != next && ::rename(segment_path(segment).c_str(), segment_path(next).c_str()) != 0)
      return base::fail(base::errno_error(errno, "naming a segment of the log"));
    ++next;
  }
  if (next == sealed) before_ += std::exchange(last, 0);
  end_ = (next == sealed ? sealed : next - 1) << kOffsetBits | last;
  written_before_ = own_lines_at_end(read_tail(kTailBytes));
  return {};
}

}  // namespace lathe::runner
