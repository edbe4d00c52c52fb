#include "runner/log_shipper.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <cerrno>

namespace lathe::runner {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
// The first bytes go at once; a script that prints all the time costs at most a hundred requests a second.
constexpr auto kNoticePeriod = std::chrono::milliseconds(10);

}  // namespace

bool LogShipper::has_more(bool last) const {
  LogStand end = log_.end();
  if (segment_ > end.segment || (end.segment == 0 && end.offset == 0)) return false;
  return segment_ < end.segment || offset_ < end.offset || last;
}

bool LogShipper::is_behind() const {
  LogStand end = log_.end();
  return !linked_ && (segment_ < end.segment || offset_ + kPieceBytes <= end.offset);
}

base::Result<std::uint64_t> LogShipper::size_of(std::uint64_t segment) const {
  LogStand end = log_.end();
  if (segment == end.segment) return end.offset;
  struct stat status{};
  if (::stat(log_.segment_path(segment).c_str(), &status) != 0)
    return base::fail(base::errno_error(errno, "reading the log in the spool"));
  return static_cast<std::uint64_t>(status.st_size);
}

void LogShipper::sealed() {
  ++segment_;
  offset_ = 0;
}

base::Result<void> LogShipper::ship(ServerLink& link, bool last) {
  auto shipped = ship_piece(link, last);
  if (shipped || shipped.error().code() != base::Code::conflict) return shipped;
  LATHE_TRY_VOID(resume(link));
  return base::fail(base::Code::unavailable, "{}", shipped.error().message());
}

base::Result<void> LogShipper::ship_piece(ServerLink& link, bool last) {
  const bool seal = segment_ < log_.end().segment || last;
  LATHE_TRY(const std::uint64_t size, size_of(segment_));
  if (seal && size == 0) return sealed(), base::Result<void>();  // nothing that the server could keep
  SegmentSync::Sealing sealing(sync_, seal ? std::optional(segment_) : std::nullopt);
  if (sync_.has_failed()) linked_ = false;
  if (!linked_) return ship_bytes(link, size, seal);
  auto noticed = ship_notice(link, size, seal);
  if (noticed || noticed.error().code() != base::Code::unsupported) return noticed;
  linked_ = false;
  return ship_bytes(link, size, seal);
}

base::Result<void> LogShipper::ship_notice(ServerLink& link, std::uint64_t size, bool seal) {
  LATHE_TRY_VOID(link.link_log({name_, segment_, size, seal}));
  offset_ = size;
  if (seal) sealed();
  return {};
}

base::Result<void> LogShipper::ship_bytes(ServerLink& link, std::uint64_t size, bool seal) {
  std::string bytes(std::min<std::uint64_t>(kPieceBytes, size - std::min(size, offset_)), '\0');
  sys::Fd file(::open(log_.segment_path(segment_).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return base::fail(base::errno_error(errno, "reading the log in the spool"));
  ssize_t n = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_));
  if (n < 0) return base::fail(base::errno_error(errno, "reading the log in the spool"));
  bytes.resize(static_cast<std::size_t>(n));
  const bool reaches_end = offset_ + bytes.size() >= size;
  LATHE_TRY(const std::uint64_t there, link.append_log({name_, segment_, offset_, bytes, seal && reaches_end}));
  offset_ = std::min(there, size);
  if (seal && reaches_end && offset_ == size) sealed();
  return {};
}

base::Result<void> LogShipper::resume(ServerLink& link) {
  LATHE_TRY(LogStand stand, link.log_stand(name_));
  resume_at(stand);
  return {};
}

void LogShipper::resume_at(const LogStand& stand) {
  segment_ = stand.segment;
  offset_ = stand.offset;
}

ShipperThread::ShipperThread(LogShipper& shipper, ServerLink& link, Inbox& inbox, BackoffLimits limits)
    : shipper_(shipper),
      link_(link),
      inbox_(inbox),
      limits_(limits),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

void ShipperThread::nudge() {
  // Empty on purpose: a waiter that has just found nothing holds the lock until it sleeps.
  {
    std::lock_guard lock(mutex_);
  }
  wake_.notify_one();
}

void ShipperThread::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(stop_event_.get(), 1);
  wake_.notify_one();
  thread_.join();
}

void ShipperThread::run() {
  Backoff backoff(limits_);
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || shipper_.has_more(false); });
    if (stopping_) return;
    lock.unlock();
    auto shipped = shipper_.ship(link_, false);
    if (!shipped && shipped.error().code() == base::Code::fenced) return inbox_.post_fenced();
    // Whatever else is wrong does not concern the script: the spool keeps the log, and the end of the run tells.
    if (!shipped && !pause(backoff.next(), stop_event_.get())) return;
    if (shipped) backoff.reset();
    lock.lock();
    if (shipped && !shipper_.is_behind()) wake_.wait_for(lock, kNoticePeriod, [&] { return stopping_; });
  }
}

}  // namespace lathe::runner
