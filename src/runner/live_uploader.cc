#include "runner/live_uploader.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include <algorithm>

#include "base/log.h"
#include "sys/clock.h"

namespace lathe::runner {
namespace {

constexpr std::size_t kMaxWatches = 512, kMaxChanges = 10'000;
constexpr base::Duration kQuiet = std::chrono::seconds(1), kClosed = std::chrono::milliseconds(100),
                         kLongest = std::chrono::seconds(30);
constexpr std::uint32_t kEvents =
    IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK;

}  // namespace

LiveUploader::LiveUploader(const RunFolder& folder, std::vector<std::string> tops, ArtifactUploader& uploader,
                           std::unique_ptr<ServerLink> link, Inbox& inbox, BackoffLimits limits)
    : folder_(folder),
      tops_(std::move(tops)),
      uploader_(uploader),
      link_(std::move(link)),
      inbox_(inbox),
      backoff_(limits),
      notify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (notify_) thread_ = std::thread([this] { run(); });
}

void LiveUploader::stop() {
  if (!thread_.joinable()) return;
  ::eventfd_write(stop_event_.get(), 1);
  link_->interrupt();  // an upload that is cut here is made good at the end
  thread_.join();
}

void LiveUploader::run() {
  for (const auto& top : tops_) watch_tree(top);
  for (;;) {
    pollfd waits[] = {{stop_event_.get(), POLLIN, 0}, {notify_.get(), POLLIN, 0}};
    auto wait = until_next_due();
    int timeout = wait == base::Duration::max()
                      ? -1
                      : static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count());
    ::poll(waits, 2, timeout);
    if (waits[0].revents != 0 || inbox_.fenced()) return;
    if (waits[1].revents != 0) read_events();
    upload_due();
  }
}

// Watches first and lists afterwards, so that nothing slips through between; a file seen twice is sent once.
void LiveUploader::watch_tree(const std::string& top) {
  std::size_t known = 0;
  for (Listing listing = folder_.list(top); known < listing.folders.size(); ++known) {
    if (watched_.size() >= kMaxWatches)
      return base::log::warn("too many folders to watch; the rest is sent at the end");
    auto fd = folder_.open_folder(listing.folders[known]);
    if (!fd) continue;
    // By descriptor: the name could be a link by now.
    int watch = ::inotify_add_watch(notify_.get(), fmt::format("/proc/self/fd/{}", fd->get()).c_str(),
                                    kEvents & ~IN_DONT_FOLLOW);
    if (watch >= 0) watched_[watch] = listing.folders[known];
  }
  for (const auto& path : folder_.list(top).files) note(path, kQuiet);
}

void LiveUploader::read_events() {
  alignas(inotify_event) char buffer[16 * 1024];
  ssize_t size = ::read(notify_.get(), buffer, sizeof buffer);
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    at += static_cast<ssize_t>(sizeof *event + event->len);
    if (event->mask & IN_Q_OVERFLOW)
      for (const auto& top : tops_) watch_tree(top);
    if (event->mask & IN_IGNORED) watched_.erase(event->wd);
    auto folder = watched_.find(event->wd);
    if (event->len == 0 || folder == watched_.end()) continue;
    std::string path = folder->second + "/" + event->name;
    if (event->mask & IN_ISDIR)
      watch_tree(path);
    else
      note(path, event->mask & (IN_CLOSE_WRITE | IN_MOVED_TO) ? kClosed : kQuiet);
  }
}

void LiveUploader::note(const std::string& path, base::Duration quiet) {
  if (changes_.size() >= kMaxChanges && !changes_.contains(path)) return;  // sent at the end
  const base::Duration now = sys::boot_time();
  Change& change = changes_.try_emplace(path, Change{now, now}).first->second;
  change.due = std::min(now + quiet, change.first + kLongest);
}

base::Duration LiveUploader::until_next_due() const {
  if (changes_.empty()) return base::Duration::max();
  base::Duration due = base::Duration::max();
  for (const auto& [path, change] : changes_) due = std::min(due, change.due);
  return std::max(base::Duration::zero(), std::max(due, retry_at_) - sys::boot_time());
}

void LiveUploader::upload_due() {
  const base::Duration now = sys::boot_time();
  std::vector<std::string> due, skipped;
  for (const auto& [path, change] : changes_)
    if (change.due <= now) due.push_back(path);
  if (due.empty() || now < retry_at_) return;
  auto uploaded = uploader_.upload(*link_, due, skipped);
  if (uploaded) {
    for (const auto& path : due) changes_.erase(path);
    return backoff_.reset();
  }
  if (!is_temporary(uploaded.error())) {
    if (uploaded.error().code() == base::Code::fenced) inbox_.post_fenced();
    changes_.clear();  // the end will tell what is wrong
  }
  retry_at_ = now + backoff_.next();
}

}  // namespace lathe::runner
