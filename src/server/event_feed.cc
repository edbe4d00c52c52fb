#include "server/event_feed.h"

#include <algorithm>

#include "base/log.h"
#include "server/event_text.h"

namespace lathe::server {

using base::Error;
using db::events::Event;
using rt::Task;

namespace {

constexpr int kEventsPerRead = 500;
// What a stream may be behind before it goes back to the database.
constexpr std::size_t kMostQueued = 64;
constexpr std::size_t kMostQueuedBytes = 1u << 20;
// Between two rounds more events gather, so that many streams get fewer, larger pieces.
constexpr base::Duration kPause = std::chrono::milliseconds(2);
constexpr base::Duration kPausePerStream = std::chrono::microseconds(40);
// So many streams are written to before other work of the home thread gets its turn.
constexpr std::size_t kSlice = 2;
constexpr base::Duration kRetry = std::chrono::seconds(1);

bool is_of_run(const Event& event) { return event.kind != db::events::kBuildKind; }

}  // namespace

// Events of one filter, in order, as one text that all streams of the filter share.
struct EventFeed::Batch {
  struct Mark {
    std::int64_t id;
    std::size_t end;  // of the event's block in `text`
  };
  std::string text;
  std::vector<Mark> marks;

  void add(std::int64_t id, std::string_view block) {
    text += block;
    marks.push_back({id, text.size()});
  }
  std::int64_t last() const { return marks.back().id; }
  std::string_view text_after(std::int64_t id) const {
    const auto first = std::ranges::upper_bound(marks, id, {}, &Mark::id);
    return std::string_view(text).substr(first == marks.begin() ? 0 : std::prev(first)->end);
  }
};

struct EventFeed::Subscriber {
  explicit Subscriber(rt::Loop& home) : changed(home) {}
  std::int64_t joined_at = 0;  // everything after this id comes through the queue
  std::deque<BatchPtr> queue;
  std::size_t queued_bytes = 0;
  bool lagging = false;  // the queue was full, and is given up
  rt::Notifier changed;

  void offer(const BatchPtr& batch) {
    if (lagging) return;
    queued_bytes += batch->text.size();
    queue.push_back(batch);
    if (queue.size() <= kMostQueued && queued_bytes <= kMostQueuedBytes) return;
    lagging = true;
    queue.clear();
    queued_bytes = 0;
  }
  BatchPtr take() {
    auto batch = std::move(queue.front());
    queue.pop_front();
    queued_bytes -= batch->text.size();
    return batch;
  }
};

// The place of one stream among those of its filter.
class EventFeed::Place {
 public:
  Place(EventFeed& feed, Filter filter)
      : self(std::make_shared<Subscriber>(feed.home_)), feed_(feed), filter_(std::move(filter)) {
    feed_.by_filter_[filter_].push_back(self);
    ++feed_.subscribers_;
    join();
  }
  Place(const Place&) = delete;
  ~Place() {
    auto found = feed_.by_filter_.find(filter_);
    std::erase(found->second, self);
    if (found->second.empty()) feed_.by_filter_.erase(found);
    --feed_.subscribers_;
  }
  void join() {
    self->lagging = false;
    self->joined_at = feed_.position_;
  }
  const SubscriberPtr self;

 private:
  EventFeed& feed_;
  const Filter filter_;
};

// ---- who waits for one run ----

EventFeed::RunWatch::RunWatch(EventFeed& feed, std::string run) : feed_(feed), run_(std::move(run)) {
  auto& known = feed_.watched_runs_[run_];
  notifier_ = known.lock();
  if (!notifier_) known = notifier_ = std::make_shared<rt::Notifier>(feed_.home_);
  seen_ = notifier_->version();
}

EventFeed::RunWatch::~RunWatch() {
  notifier_.reset();
  const auto found = feed_.watched_runs_.find(run_);
  if (found->second.expired()) feed_.watched_runs_.erase(found);
}

Task<void> EventFeed::RunWatch::changed(rt::CancelToken cancel) {
  co_await notifier_->changed(seen_, cancel);
  seen_ = notifier_->version();
}

void EventFeed::notify(std::string_view run) {
  stale_ = true;
  if (run.empty()) {
    for (auto& [id, watched] : watched_runs_)
      if (const auto notifier = watched.lock()) notifier->notify();
  } else if (const auto found = watched_runs_.find(std::string(run)); found != watched_runs_.end()) {
    if (const auto notifier = found->second.lock()) notifier->notify();
  }
  if (subscribers_ > 0) start_pump();
}

// ---- the one reader ----

void EventFeed::start_pump() {
  if (!stale_ || std::exchange(pumping_, true)) return;
  scope_.spawn("event feed", pump());
}

Task<void> EventFeed::pump() {
  while (stale_ && subscribers_ > 0) {
    std::optional<Error> failed;
    try {
      co_await read_round();
    } catch (const Error& error) {
      failed = error;
    }
    if (failed) {
      base::log::warn("new events could not be read", {{"why", failed->text()}});
      stale_ = true;
    }
    co_await home_.sleep(failed ? kRetry : pause(), scope_.token());
  }
  pumping_ = false;
}

base::Duration EventFeed::pause() const { return kPause + kPausePerStream * static_cast<int>(subscribers_); }

Task<void> EventFeed::read_round() {
  stale_ = false;
  ++reads_;
  auto events = co_await database_.read([after = position_](db::Connection& connection) {
    return db::events::list_all_after(connection, after, kEventsPerRead);
  });
  if (events.size() == kEventsPerRead) stale_ = true;
  if (events.empty()) co_return;
  // A stream that joined during the read may have moved the position on; it passes over what it has seen.
  position_ = std::max(position_, events.back().id);
  const auto reached = distribute(events);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (i > 0 && i % kSlice == 0) co_await home_.turn();
    reached[i]->changed.notify();
  }
}

// Puts the events into the queues; gives those who have something new.
std::vector<EventFeed::SubscriberPtr> EventFeed::distribute(const std::vector<Event>& events) {
  std::map<Filter, std::shared_ptr<Batch>> batches;
  for (const auto& event : events) {
    std::string block;
    for (const auto& filter : {Filter{event.workspace, ""}, Filter{event.workspace, event.run_id.value}}) {
      if (!filter.run.empty() && !is_of_run(event)) continue;
      if (!by_filter_.contains(filter)) continue;
      if (block.empty()) block = event_block(event);
      auto& batch = batches[filter];
      if (!batch) batch = std::make_shared<Batch>();
      batch->add(event.id, block);
    }
  }
  std::vector<SubscriberPtr> reached;
  for (const auto& [filter, batch] : batches)
    for (const auto& subscriber : by_filter_.at(filter)) {
      subscriber->offer(batch);
      reached.push_back(subscriber);
    }
  return reached;
}

// ---- one stream ----

Task<void> EventFeed::stream(Filter filter, std::int64_t after, std::int64_t last, rt::CancelToken cancel,
                             net::BodyWriter& out) {
  co_await out.write(": lathe events\n\n");
  // Nobody read while nobody listened. What came since then is for the database, not for the feed.
  if (subscribers_ == 0) position_ = std::max(position_, last);
  Place place(*this, filter);
  start_pump();
  for (;;) {
    after = co_await catch_up(filter, after, place.self->joined_at, cancel, out);
    after = co_await follow(place.self, after, cancel, out);
    place.join();
  }
}

// What the database has up to the id `through`; gives the id from which the queue goes on.
Task<std::int64_t> EventFeed::catch_up(Filter filter, std::int64_t after, std::int64_t through, rt::CancelToken cancel,
                                       net::BodyWriter& out) {
  while (after < through) {
    cancel.check();
    ++catch_ups_;
    auto events = co_await database_.read([&](db::Connection& connection) {
      return db::events::list_between(connection, filter.workspace, filter.run, {after, through}, kEventsPerRead);
    });
    std::string text;
    for (const auto& event : events) text += event_block(event);
    if (!text.empty()) co_await out.write(text);
    if (events.size() < kEventsPerRead) break;
    after = events.back().id;
  }
  co_return std::max(after, through);
}

// What comes through the queue, until it overflows; gives the last id that was written.
Task<std::int64_t> EventFeed::follow(SubscriberPtr self, std::int64_t after, rt::CancelToken cancel,
                                     net::BodyWriter& out) {
  while (!self->lagging) {
    const auto seen = self->changed.version();
    if (self->queue.empty()) {
      // A comment, by the rules of server-sent events: who hears nothing for long knows that the connection is dead.
      if (!co_await self->changed.changed_within(seen, home_, heartbeat_, cancel)) co_await out.write(":\n\n");
      continue;
    }
    const auto batch = self->take();
    const auto text = batch->text_after(after);
    if (!text.empty()) co_await out.write(text);
    after = std::max(after, batch->last());
  }
  co_return after;
}

}  // namespace lathe::server
