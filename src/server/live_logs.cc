#include "server/live_logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "db/logs.h"
#include "sys/fd.h"

namespace lathe::server {

using base::Code;
using base::Error;
using rt::Task;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPieceBytes = 4u << 20;
constexpr std::uint64_t kMostSegmentBytes = 1u << 30;  // of logs.segment_mb
// Up to here one read and one send are cheaper than the three calls around sendfile.
constexpr std::uint64_t kSmallPiece = 64u << 10;

void make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw base::errno_error(failed.value(), "make the folder of a live log");
}

// After this the file has one name, ours: the first `size` bytes of a file that had a second one are copied.
void disown_second_name(const fs::path& path, std::uint64_t size) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || status.st_nlink == 1) return;
  const fs::path draft = path.string() + ".new";
  std::error_code failed;
  fs::copy_file(path, draft, fs::copy_options::overwrite_existing, failed);
  if (!failed) fs::permissions(draft, fs::perms::owner_read | fs::perms::owner_write, failed);
  if (!failed) fs::resize_file(draft, size, failed);
  if (!failed) fs::rename(draft, path, failed);
  if (failed) throw base::errno_error(failed.value(), "copy a live log");
}

void write_at(const fs::path& path, std::uint64_t offset, std::string_view bytes) {
  disown_second_name(path, offset);
  sys::Fd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file && errno == ENOENT) {
    make_folder(path.parent_path());
    file.reset(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  if (!file) throw base::errno_error(errno, "open a live log");
  while (!bytes.empty()) {
    ssize_t n = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw base::errno_error(errno, "write a live log");
    bytes.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

// Links the runner's own segment into live/ (once) and checks that it holds what the runner says. Whether the link is
// new.
bool link_file(const fs::path& source, const fs::path& target, std::uint64_t size) {
  const Error refusal = Error(Code::unsupported, "this log cannot be linked").hint("send its bytes");
  struct stat spool{}, here{};
  if (::lstat(source.c_str(), &spool) != 0 || !S_ISREG(spool.st_mode) || spool.st_uid != ::geteuid() ||
      static_cast<std::uint64_t>(spool.st_size) < size)
    throw refusal;
  const bool is_new = ::lstat(target.c_str(), &here) != 0;
  if (is_new) {
    make_folder(target.parent_path());
    if (::link(source.c_str(), target.c_str()) != 0 || ::lstat(target.c_str(), &here) != 0) throw refusal;
  }
  // Another file is there when the bytes came by request so far; those were acknowledged and must stay.
  if (here.st_dev != spool.st_dev || here.st_ino != spool.st_ino) throw refusal;
  return is_new;
}

std::string read_at(int fd, std::uint64_t offset, std::size_t length) {
  std::string out(length, '\0');
  ssize_t n = ::pread(fd, out.data(), length, static_cast<off_t>(offset));
  if (n < 0) throw base::errno_error(errno, "read a log");
  if (static_cast<std::size_t>(n) != length) throw Error(Code::corrupt, "a log is shorter than its record says");
  return out;
}

std::uint64_t size_on_disk(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::string attempt_folder(std::int64_t run_sequence, int attempt) {
  return fmt::format("{}.{}", run_sequence, attempt);
}

}  // namespace

struct LiveLogs::Segment {
  std::uint64_t offset = 0, size = 0;
  base::Digest digest;
};

struct LiveLogs::Stream {
  explicit Stream(LogStream stream, rt::Executor& home) : id(std::move(stream)), grown(home), changing(home) {}
  LogStream id;
  std::vector<Segment> sealed;
  std::uint64_t base = 0;  // where the open segment starts
  std::uint64_t size = 0;  // of the open segment
  // How the open segment came here.
  enum class Origin {
    none,      // not at all yet
    linked,    // this process linked it
    sent,      // this process wrote all of it
    doubtful,  // an earlier process had to do with it, or both ways were taken
  };
  Origin origin = Origin::none;
  bool loaded = false;
  bool ended = false;  // nothing will be added
  rt::Notifier grown;
  rt::AsyncMutex changing;
  int segment() const { return static_cast<int>(sealed.size()); }
  std::uint64_t total() const { return base + size; }
  // The segment that holds this byte, which must exist.
  int segment_at(std::uint64_t offset) const {
    if (offset >= base) return segment();
    auto after = std::upper_bound(sealed.begin(), sealed.end(), offset,
                                  [](std::uint64_t at, const Segment& each) { return at < each.offset; });
    return static_cast<int>(after - sealed.begin()) - 1;
  }
  // Where a segment begins and, so far, ends in the whole log.
  std::pair<std::uint64_t, std::uint64_t> extent(int number) const {
    if (number == segment()) return {base, base + size};
    const auto& each = sealed[static_cast<std::size_t>(number)];
    return {each.offset, each.offset + each.size};
  }
};

LiveLogs::LiveLogs(fs::path folder, rt::Executor& home, rt::BlockingPool& pool, cas::DiskStore& store,
                   db::Database& database)
    : folder_(std::move(folder)),
      home_(home),
      pool_(pool),
      store_(store),
      database_(database),
      sync_(store.files()) {}
LiveLogs::~LiveLogs() = default;

fs::path LiveLogs::file_of(const compute::TaskName& task, int segment) const {
  return folder_ / attempt_folder(task.run_sequence, task.attempt) / fmt::format("{}.{}", task.node, segment);
}

Task<LiveLogs::StreamPtr> LiveLogs::load(LogStream id) {
  // Only streams that can still grow are kept and shared; a finished log is looked up anew by each reader.
  bool live = live_.contains({id.task.run_sequence, id.task.attempt});
  StreamPtr stream = live ? streams_[id.task.text()] : nullptr;
  if (!stream) stream = std::make_shared<Stream>(id, home_);
  if (live) streams_[id.task.text()] = stream;
  stream->ended = !live;
  if (stream->loaded) co_return stream;
  auto lock = co_await stream->changing.lock();
  if (stream->loaded) co_return stream;
  auto rows = co_await database_.read([&](db::Connection& connection) {
    return db::logs::list(connection, id.task.run_sequence, id.task.attempt, id.name);
  });
  for (const auto& row : rows) {
    stream->sealed.push_back(
        {static_cast<std::uint64_t>(row.offset), static_cast<std::uint64_t>(row.size), row.digest});
    stream->base = static_cast<std::uint64_t>(row.offset + row.size);
  }
  stream->size = size_on_disk(file_of(id.task, stream->segment()));
  if (stream->size > 0) stream->origin = Stream::Origin::doubtful;
  stream->loaded = true;
  co_return stream;
}

Task<LogPosition> LiveLogs::position(LogStream id) {
  auto stream = co_await load(std::move(id));
  co_return LogPosition{stream->segment(), stream->size};
}

Task<std::uint64_t> LiveLogs::size(LogStream id) {
  auto stream = co_await load(std::move(id));
  co_return stream->total();
}

// A request that was under way when its attempt ended changes nothing any more.
void LiveLogs::require_growing(const Stream& stream) {
  if (stream.ended) throw Error(Code::fenced, "the attempt of this log is over").hint("this runner must stop");
}

void LiveLogs::require_room(const Stream& stream, std::uint64_t size) const {
  auto live = live_.find({stream.id.task.run_sequence, stream.id.task.attempt});
  if (live == live_.end() || size <= live->second) return;
  throw Error(Code::too_large, fmt::format("a segment of this log has at most {} bytes, not {}", live->second, size))
      .field("offset")
      .hint("seal it and begin the next one");
}

Task<std::uint64_t> LiveLogs::append(LogStream id, int segment, std::uint64_t offset, std::string_view bytes) {
  auto stream = co_await load(std::move(id));
  auto lock = co_await stream->changing.lock();
  require_growing(*stream);
  if (segment < stream->segment()) co_return stream->sealed[static_cast<std::size_t>(segment)].size;
  if (segment > stream->segment() || offset > stream->size)
    throw Error(Code::conflict, fmt::format("the log has segment {} with {} bytes; segment {} at {} would leave a hole",
                                            stream->segment(), stream->size, segment, offset))
        .field("offset");
  std::uint64_t known = std::min<std::uint64_t>(stream->size - offset, bytes.size());
  bytes.remove_prefix(known);
  require_room(*stream, stream->size + bytes.size());
  if (stream->origin == Stream::Origin::linked) stream->origin = Stream::Origin::doubtful;
  if (!bytes.empty()) {
    auto path = file_of(stream->id.task, segment);
    co_await pool_.run(home_, [&] { write_at(path, stream->size, bytes); });
    if (stream->origin == Stream::Origin::none) stream->origin = Stream::Origin::sent;
    sync_.written(path);
    stream->size += bytes.size();
    stream->grown.notify();
  }
  co_return stream->size;
}

Task<std::uint64_t> LiveLogs::link(LogStream id, int segment, std::uint64_t size, fs::path source) {
  auto stream = co_await load(std::move(id));
  auto lock = co_await stream->changing.lock();
  require_growing(*stream);
  if (segment < stream->segment()) co_return stream->sealed[static_cast<std::size_t>(segment)].size;
  if (segment > stream->segment()) throw Error(Code::conflict, "an earlier segment is not sealed").field("segment");
  require_room(*stream, size);
  if (size > stream->size) {
    auto path = file_of(stream->id.task, segment);
    const bool is_new = co_await pool_.run(home_, [&] { return link_file(source, path, size); });
    if (stream->origin == Stream::Origin::none)
      stream->origin = is_new ? Stream::Origin::linked : Stream::Origin::doubtful;
    stream->size = size;
    stream->grown.notify();
  }
  co_return stream->size;
}

Task<void> LiveLogs::seal(LogStream id, int segment, std::uint64_t size) {
  return seal_as(std::move(id), segment, size, true);
}

// `is_complete`: its writer has said so, and writes to it no more.
Task<void> LiveLogs::seal_as(LogStream id, int segment, std::uint64_t size, bool is_complete) {
  auto stream = co_await load(std::move(id));
  auto lock = co_await stream->changing.lock();
  require_growing(*stream);
  if (segment < stream->segment()) co_return;
  if (segment > stream->segment() || stream->size != size)
    throw Error(Code::conflict, fmt::format("segment {} holds {} bytes, not {}", stream->segment(), stream->size, size))
        .field("size");
  if (size == 0) co_return;
  const auto& task = stream->id.task;
  auto path = file_of(task, segment);
  using enum Stream::Origin;
  const bool is_safe = stream->origin == sent || (stream->origin == linked && is_complete);
  auto info = co_await pool_.run(home_, [&] {
    sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) throw base::errno_error(errno, "open a live log");
    auto batch = store_.begin_batch();
    auto blob = base::value_or_throw(batch->adopt(file.get(), path, is_safe ? cas::Adopt::link : cas::Adopt::copy));
    base::value_or_throw(batch->commit());
    return blob;
  });
  if (info.size != size) throw Error(Code::corrupt, "the log changed while it was sealed");
  co_await database_.write([&](db::Connection& connection) {
    db::logs::insert(connection, task.run_sequence,
                     {task.attempt, stream->id.name, segment, static_cast<std::int64_t>(stream->base),
                      static_cast<std::int64_t>(size), info.digest});
  });
  stream->sealed.push_back({stream->base, size, info.digest});
  stream->base += size;
  stream->size = 0;
  stream->origin = Stream::Origin::none;
  ::unlink(path.c_str());
}

// Where a follower stands: the file of one segment. A live one that is sealed meanwhile still holds the same bytes.
struct LiveLogs::Reader {
  int segment = -1;
  sys::Fd file;
};

Task<void> LiveLogs::open_at(StreamPtr stream, std::uint64_t offset, Reader& reader) {
  int segment = stream->segment_at(offset);
  if (segment == reader.segment) co_return;
  if (segment == stream->segment()) {
    reader.file.reset(::open(file_of(stream->id.task, segment).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!reader.file) throw base::errno_error(errno, "open a live log");
  } else {
    auto digest = stream->sealed[static_cast<std::size_t>(segment)].digest;
    reader.file.reset(co_await pool_.run(home_, [&] { return base::value_or_throw(store_.open(digest)).release(); }));
  }
  reader.segment = segment;
}

Task<void> LiveLogs::copy(LogStream id, Part part, bool follow, rt::CancelToken cancel, net::BodyWriter& out) {
  auto stream = co_await load(std::move(id));
  Reader reader;
  while (part.length > 0) {
    cancel.check();
    if (part.offset < stream->total()) {
      co_await open_at(stream, part.offset, reader);
      auto [begin, end] = stream->extent(reader.segment);
      auto within = part.offset - begin, length = std::min({kPieceBytes, part.length, end - part.offset});
      // The end of a live log is in the page cache: read here, a line costs no thread switch.
      if (length <= kSmallPiece)
        co_await out.write(read_at(reader.file.get(), within, length));
      else
        co_await out.write_file({reader.file.get(), within, length});
      part.offset += length;
      part.length -= length;
      continue;
    }
    if (!follow || stream->ended) break;
    co_await stream->grown.changed(stream->grown.version(), cancel);
  }
}

void LiveLogs::attempt_started(std::int64_t run_sequence, int attempt) {
  live_.try_emplace({run_sequence, attempt}, kMostSegmentBytes);
}

void LiveLogs::limit_segments(std::int64_t run_sequence, int attempt, std::uint64_t bytes) {
  if (auto live = live_.find({run_sequence, attempt}); live != live_.end()) live->second = bytes;
}

Task<void> LiveLogs::seal_or_give_up(LogStream id) {
  try {
    co_await seal_rest(id);
  } catch (const Error& error) {
    if (error.code() != Code::io && error.code() != Code::corrupt && error.code() != Code::not_found) throw;
    base::log::error("the end of a log could not be kept", {{"task", id.task.text()}, {"why", error.text()}});
  }
}

Task<void> LiveLogs::seal_rest(LogStream id) {
  std::error_code ignored;
  if (!streams_.contains(id.task.text()) && !fs::exists(file_of(id.task, 0).parent_path(), ignored)) co_return;
  auto stream = co_await load(id);
  co_await seal_as(id, stream->segment(), stream->size, false);
}

Task<void> LiveLogs::attempt_ended(std::int64_t run_sequence, int attempt) {
  live_.erase({run_sequence, attempt});
  std::string prefix = fmt::format("{}.{}.", run_sequence, attempt);
  for (auto it = streams_.lower_bound(prefix); it != streams_.end() && it->first.starts_with(prefix);) {
    it->second->ended = true;
    it->second->grown.notify();
    it = streams_.erase(it);
  }
  auto folder = folder_ / attempt_folder(run_sequence, attempt);
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) co_return;
  co_await pool_.run(home_, [&] { fs::remove_all(folder, ignored); });
}

Task<void> LiveLogs::sweep() {
  auto found = co_await pool_.run(home_, [&] {
    std::vector<fs::path> folders;
    std::error_code failed;
    for (fs::directory_iterator entry(folder_, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed))
      folders.push_back(entry->path());
    return folders;
  });
  std::set<std::string> live;
  for (const auto& [attempt, limit] : live_) live.insert(attempt_folder(attempt.first, attempt.second));
  for (const auto& folder : found) {
    if (live.contains(folder.filename().string())) continue;
    std::error_code ignored;
    co_await pool_.run(home_, [&] { fs::remove_all(folder, ignored); });
  }
}

}  // namespace lathe::server
