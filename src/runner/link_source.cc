#include "runner/link_source.h"

#include <sys/eventfd.h>

#include <algorithm>

namespace lathe::runner {
namespace {

using std::chrono::steady_clock;

// How long one call may hear nothing, whatever patience is left.
constexpr base::Duration kLeastWait = std::chrono::seconds(1), kMostWait = std::chrono::seconds(60);

}  // namespace

LinkSource::LinkSource(LinkFactory make_link, BackoffLimits backoff, base::Duration patience)
    : make_link_(std::move(make_link)),
      backoff_(backoff),
      patience_(patience),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

base::Duration LinkSource::patience_left() const {
  std::lock_guard lock(mutex_);
  return away_since_ ? patience_ - (steady_clock::now() - *away_since_) : patience_;
}

base::Duration LinkSource::note_away(steady_clock::time_point since) {
  {
    std::lock_guard lock(mutex_);
    if (!away_since_) away_since_ = since;
  }
  return patience_left();
}

void LinkSource::note_back() {
  std::lock_guard lock(mutex_);
  away_since_.reset();
}

std::unique_ptr<ServerLink> LinkSource::take() {
  std::lock_guard lock(mutex_);
  std::unique_ptr<ServerLink> link;
  if (idle_.empty()) {
    link = make_link_();
  } else {
    link = std::move(idle_.back());
    idle_.pop_back();
  }
  busy_.insert(link.get());
  if (interrupted_) link->interrupt();
  return link;
}

void LinkSource::give(std::unique_ptr<ServerLink> link) {
  std::lock_guard lock(mutex_);
  busy_.erase(link.get());
  idle_.push_back(std::move(link));
}

template <class Call>
auto LinkSource::with_link(Call call) -> decltype(call(std::declval<ServerLink&>())) {
  auto link = take();
  Backoff backoff(backoff_);
  for (;;) {
    const auto begun = steady_clock::now();
    link->limit_waiting(std::clamp(patience_left(), kLeastWait, kMostWait));
    auto result = call(*link);
    const bool is_away = !result && is_temporary(result.error());
    if (!is_away) note_back();
    const auto left = is_away ? note_away(begun) : base::Duration();
    if (is_away && left > base::Duration::zero() && pause(std::min(backoff.next(), left), stop_event_.get())) continue;
    give(std::move(link));
    return result;
  }
}

bool LinkSource::is_hashed(const base::Digest& digest) const {
  std::lock_guard lock(mutex_);
  return !unhashed_.contains(digest);
}

void LinkSource::remember(const base::Digest& name, DatastoreFile file) {
  std::lock_guard lock(mutex_);
  unhashed_.insert_or_assign(name, std::move(file));
}

base::Result<mount::NamePage> DatastoreNames::list(const std::string& prefix, const std::string& after, int limit) {
  LATHE_TRY(auto page, source_.names({workspace_, datastore_, prefix, after, limit}));
  for (const auto& file : page.files)
    if (!file.hashed) source_.remember(file.blob.digest, {workspace_, datastore_, file.path});
  return page;
}

base::Result<std::string> LinkSource::read(const base::Digest& digest, std::uint64_t offset, std::uint64_t size) {
  std::unique_lock lock(mutex_);
  if (auto known = unhashed_.find(digest); known != unhashed_.end()) {
    const DatastoreFile file = known->second;
    lock.unlock();
    return with_link([&](ServerLink& link) { return link.fetch_file_range(file, offset, size); });
  }
  lock.unlock();
  return with_link([&](ServerLink& link) { return link.fetch_range(digest, offset, size); });
}

base::Result<cas::ChunkIndex> LinkSource::chunks(const base::Digest& digest) {
  return with_link([&](ServerLink& link) { return link.fetch_chunks(digest); });
}

base::Result<mount::NamePage> LinkSource::names(const NameQuery& query) {
  return with_link([&](ServerLink& link) { return link.list_names(query); });
}

void LinkSource::interrupt() {
  ::eventfd_write(stop_event_.get(), 1);
  std::lock_guard lock(mutex_);
  interrupted_ = true;
  for (auto* link : busy_) link->interrupt();
}

}  // namespace lathe::runner
