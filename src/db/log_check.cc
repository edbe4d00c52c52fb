#include "db/log_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/error.h"
#include "db/log_format.h"
#include "sys/file_system.h"

namespace lathe::db {

namespace {

using base::Code;
using base::Error;
using log_format::LastCommit;

sys::File open_existing(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno != ENOENT) throw base::errno_error(errno, fmt::format("opening {}", path));
  return sys::File(fd);
}

// Fewer bytes than asked for at the end of the file.
std::vector<unsigned char> read_at(const sys::File& file, std::int64_t size, std::int64_t offset) {
  std::vector<unsigned char> bytes(size);
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(file.fd(), bytes.data() + have, bytes.size() - have, offset + static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw base::errno_error(errno, "reading the log of the database");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw Error(Code::corrupt, fmt::format("the database is damaged: {} of {} is not whole, and commits that were "
                                         "acknowledged lie in or behind it",
                                         what, path))
      .hint("keep a copy of lathe.db, lathe.db-wal and lathe.db-shm, then restore a backup: lathe restore");
}

// Frame after frame, each checked with the sum that the one before it stores, whole or not.
class Frames {
 public:
  Frames(const sys::File& log, log_format::Bytes header) : log_(log) {
    salt_ = log_format::load_salt(&header[16]);
    before_ = log_format::load_sum(&header[24]);
  }
  // False at the end of the file.
  bool next() {
    const auto bytes = read_at(log_, log_format::kFrame, log_format::frame_offset(number + 1));
    if (static_cast<std::int64_t>(bytes.size()) < log_format::kFrame) return false;
    ++number;
    const log_format::Bytes all(bytes);
    whole = log_format::load_salt(&all[8]) == salt_ &&
            log_format::is_whole_frame(before_, all.first(log_format::kFrameHeader),
                                       all.subspan(log_format::kFrameHeader));
    commit = log_format::load_big(&all[4]) != 0;
    before_ = log_format::load_sum(&all[16]);
    return true;
  }
  std::int64_t number = 0;
  bool whole = false, commit = false;

 private:
  const sys::File& log_;
  log_format::Salt salt_;
  log_format::Sum before_;
};

struct Found {
  std::int64_t first_bad = 0;       // 0: none
  std::int64_t last_replayed = 0;   // the last commit before it
  int whole_commits_behind = 0;     // commit frames after first_bad that are whole
};

Found scan(Frames frames) {
  Found found;
  while (frames.next()) {
    if (!frames.whole && found.first_bad == 0) found.first_bad = frames.number;
    if (!frames.whole || !frames.commit) continue;
    if (found.first_bad == 0)
      found.last_replayed = frames.number;
    else
      ++found.whole_commits_behind;
  }
  return found;
}

}  // namespace

void check_log(const std::filesystem::path& database) {
  const std::string path = database.string() + "-wal";
  const sys::File log = open_existing(path);
  if (!log) return;
  const auto header_bytes = read_at(log, log_format::kHeader, 0);
  // Zeros: a log that was begun when the machine went down.
  if (std::ranges::all_of(header_bytes, [](unsigned char byte) { return byte == 0; })) return;
  std::optional<LastCommit> last;
  if (const sys::File index = open_existing(database.string() + "-shm"))
    last = log_format::read_index(read_at(index, log_format::kIndexHeader, 0));
  const auto header = log_format::read_header(header_bytes);
  if (!header) {
    if (last && last->frame > 0) damaged(path, "the header");
    return;
  }
  const Found found = scan(Frames(log, header_bytes));
  const bool commits_missing = last && last->salt == header->salt && found.last_replayed < last->frame;
  // The first of them may end the torn transaction itself.
  if (commits_missing || found.whole_commits_behind > 1)
    damaged(path, found.first_bad == 0 ? "the end" : fmt::format("frame {}", found.first_bad));
}

}  // namespace lathe::db
