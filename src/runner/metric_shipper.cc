#include "runner/metric_shipper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"

namespace lathe::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".jsonl";
// A piece is at least this, and as much more as one line needs, up to what the server takes.
constexpr std::size_t kPieceBytes = 1 << 20, kMostBytes = 16 << 20;
constexpr std::size_t kMostJournals = 10'000;
// The first record goes at once; a script that logs all the time costs at most twenty requests a second.
constexpr auto kPeriod = std::chrono::milliseconds(50);
// How often a folder is looked at that cannot be watched.
constexpr int kBlindMillis = 1000;
// What the script reads in place of a number of bytes: no more of this journal will be stored.
constexpr std::string_view kRefused = "refused";
constexpr std::size_t kLongestCount = 20;

// Never through a link and never a pipe: the folder is the script's to write to.
base::Result<sys::Fd> open_journal(const fs::path& path, std::uint64_t& size) {
  sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0)
    return base::fail(base::errno_error(errno, "reading a metric journal"));
  if (!S_ISREG(status.st_mode)) return base::fail(base::Code::unsupported, "it is not a file");
  size = static_cast<std::uint64_t>(status.st_size);
  return file;
}

// Whole lines from `offset` on: about a piece, more when one line is longer. Empty when there is none yet.
base::Result<std::string> read_lines(int file, std::uint64_t offset, std::uint64_t size) {
  for (std::size_t want = kPieceBytes;; want = kMostBytes) {
    std::string bytes(std::min<std::uint64_t>(want, size - std::min(size, offset)), '\0');
    const ssize_t n = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0) return base::fail(base::errno_error(errno, "reading a metric journal"));
    bytes.resize(static_cast<std::size_t>(n));
    const std::size_t end = bytes.rfind('\n');
    if (end != bytes.npos) return bytes.substr(0, end + 1);
    if (bytes.size() >= kMostBytes) return base::fail(base::Code::too_large, "one of its lines is too long");
    if (bytes.size() < want) return std::string();
  }
}

std::string source_of(const std::string& name) { return name.substr(0, name.size() - kSuffix.size()); }

// How many records the script could not write, as it tells by a link; empty when it tells none.
std::string lost_records(const fs::path& link) {
  char target[kLongestCount + 1];
  const ssize_t size = ::readlink(link.c_str(), target, sizeof target);
  const std::string_view told(target, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const bool is_count = told.size() <= kLongestCount && told.find_first_not_of("0123456789") == told.npos;
  return std::string(is_count ? told : "");
}

}  // namespace

std::vector<std::string> MetricShipper::list() const {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(folder_, failed);
       !failed && entry != fs::directory_iterator() && names.size() < kMostJournals; entry.increment(failed))
    if (auto name = entry->path().filename().string(); name.ends_with(kSuffix)) names.push_back(std::move(name));
  std::ranges::sort(names);
  return names;
}

base::Result<void> MetricShipper::ship(ServerLink& link) {
  for (const auto& name : list()) {
    Journal& journal = journals_[name];
    if (!journal.given_up.empty()) continue;
    auto shipped = ship_journal(link, name, journal);
    const bool is_final = !shipped && !is_temporary(shipped.error()) && !ends_attempt(shipped.error());
    if (is_final) journal.given_up = shipped.error().message();
    tell(name, journal);
    if (!shipped && !is_final) return shipped;
  }
  return {};
}

base::Result<void> MetricShipper::ship_journal(ServerLink& link, const std::string& name, Journal& journal) {
  std::uint64_t size = 0;
  auto file = open_journal(folder_ / name, size);
  // Whatever the system says about this one file, waiting does not help, and it is not about the server.
  if (!file) return base::fail(base::Code::corrupt, "{}", file.error().message());
  const std::string source = source_of(name);
  if (!journal.asked && size > 0) {
    LATHE_TRY(journal.offset, link.append_metrics({source, 0, {}}));
    journal.asked = true;
  }
  while (journal.offset < size) {
    auto lines = read_lines(file->get(), journal.offset, size);
    if (!lines) return base::fail(base::Code::corrupt, "{}", lines.error().message());
    if (lines->empty()) return {};
    auto there = link.append_metrics({source, journal.offset, *lines});
    if (!there && there.error().code() == base::Code::conflict) {
      journal.asked = false;  // the server has less than it said: one that was restored from a backup
      return base::fail(base::Code::unavailable, "{}", there.error().message());
    }
    if (!there) return base::fail(std::move(there).error());
    if (*there <= journal.offset) return base::fail(base::Code::corrupt, "the server took nothing of it");
    journal.offset = *there;
  }
  return {};
}

void MetricShipper::tell(const std::string& name, Journal& journal) const {
  if (!journal.asked && journal.given_up.empty()) return;
  std::string told = journal.given_up.empty() ? fmt::format("{}", journal.offset) : std::string(kRefused);
  if (told == journal.told) return;
  const fs::path link = folder_ / (source_of(name) + ".at"), fresh = link.string() + ".new";
  ::unlink(fresh.c_str());
  if (::symlink(told.c_str(), fresh.c_str()) == 0 && ::rename(fresh.c_str(), link.c_str()) == 0)
    journal.told = std::move(told);
}

std::string MetricShipper::problem_of(const std::string& name, const Journal& journal) const {
  std::error_code failed;
  const auto size = fs::file_size(folder_ / name, failed);
  if (!journal.given_up.empty()) return fmt::format("{}: {}", name, journal.given_up);
  if (!failed && size > journal.offset)
    return fmt::format("{}: its last {} bytes are no whole line", name, size - journal.offset);
  return {};
}

std::vector<std::string> MetricShipper::problems() const {
  std::vector<std::string> out;
  for (const auto& name : list()) {
    auto known = journals_.find(name);
    if (known == journals_.end()) continue;
    if (auto problem = problem_of(name, known->second); !problem.empty()) out.push_back(std::move(problem));
    if (auto lost = lost_records(folder_ / (source_of(name) + ".lost")); !lost.empty())
      out.push_back(fmt::format("{}: the script could not write {} of its records", name, lost));
  }
  return out;
}

sys::Fd watch_metrics(const fs::path& folder) {
  sys::Fd notify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (notify && ::inotify_add_watch(notify.get(), folder.c_str(), IN_MODIFY | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR) < 0)
    notify.reset();
  return notify;
}

MetricThread::MetricThread(MetricShipper& shipper, std::unique_ptr<ServerLink> link, sys::Fd notify, Inbox& inbox,
                           BackoffLimits limits)
    : shipper_(shipper),
      link_(std::move(link)),
      notify_(std::move(notify)),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      inbox_(inbox),
      backoff_(limits),
      thread_([this] { run(); }) {}

void MetricThread::stop() {
  if (!thread_.joinable()) return;
  ::eventfd_write(stop_event_.get(), 1);
  link_->interrupt();  // what is cut here is made good at the end
  thread_.join();
}

void MetricThread::run() {
  for (bool again = true;;) {
    pollfd waits[] = {{stop_event_.get(), POLLIN, 0}, {notify_.get(), POLLIN, 0}};
    if (!again) ::poll(waits, 2, notify_ ? -1 : kBlindMillis);
    if (waits[0].revents != 0 || inbox_.fenced()) return;
    alignas(inotify_event) char events[16 * 1024];  // which file changed does not matter: all are looked at
    while (::read(notify_.get(), events, sizeof events) > 0) {
    }
    auto shipped = shipper_.ship(*link_);
    if (!shipped && shipped.error().code() == base::Code::fenced) return inbox_.post_fenced();
    again = !shipped;
    if (shipped) backoff_.reset();
    if (!pause(shipped ? base::Duration(kPeriod) : backoff_.next(), stop_event_.get())) return;
  }
}

}  // namespace lathe::runner
