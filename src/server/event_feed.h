// EventFeed: tells all who follow events of the server what was committed. One coroutine reads new event rows, once for
// everybody, makes their text once, and hands it to the streams that asked for it; a stream reads the database itself
// only for what happened before it joined, or when it was too slow for its small queue. Nothing is told twice or left
// out, because ids only grow and rows become visible in the order of their ids.
// Home thread. A failed read is logged and tried again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "db/database.h"
#include "db/events.h"
#include "net/http.h"
#include "net/keep_alive.h"
#include "rt/loop.h"
#include "rt/notifier.h"
#include "rt/scope.h"

namespace lathe::server {

class EventFeed {
 public:
  // `scope` owns the reading coroutine. `heartbeat`: how often a silent stream says that it is alive.
  EventFeed(rt::Loop& home, db::Database& database, rt::Scope& scope, base::Duration heartbeat = net::kHeartbeat)
      : home_(home), database_(database), scope_(scope), heartbeat_(heartbeat) {}

  // To be called after every commit that wrote event rows, and after what is kept in memory was changed for it. `run`:
  // whose events they are; empty: of several runs, or of none.
  void notify(std::string_view run = {});

  // Waits for changes of one run that somebody looks at by other means; changes of others wake nobody.
  class RunWatch {
   public:
    RunWatch(EventFeed& feed, std::string run);
    ~RunWatch();
    RunWatch(const RunWatch&) = delete;
    // Resumes when notify() was called for the run since the last call, or since this watch was made.
    rt::Task<void> changed(rt::CancelToken cancel);

   private:
    EventFeed& feed_;
    std::string run_;
    std::shared_ptr<rt::Notifier> notifier_;
    std::uint64_t seen_;
  };

  struct Filter {
    std::string workspace;
    std::string run;  // empty: all, and builds, too
    auto operator<=>(const Filter&) const = default;
  };
  // Writes the events after the id `after`, then the new ones as they come, until the token fires. `last` is the
  // greatest id of a read that the caller has made.
  rt::Task<void> stream(Filter filter, std::int64_t after, std::int64_t last, rt::CancelToken cancel,
                        net::BodyWriter& out);

  // For tests and /metrics: how often the database was asked for new events, and for earlier ones.
  std::uint64_t reads() const { return reads_; }
  std::uint64_t catch_ups() const { return catch_ups_; }
  std::size_t streams() const { return subscribers_; }

 private:
  struct Batch;
  struct Subscriber;
  using BatchPtr = std::shared_ptr<const Batch>;
  using SubscriberPtr = std::shared_ptr<Subscriber>;
  class Place;

  void start_pump();
  rt::Task<void> pump();
  rt::Task<void> read_round();
  std::vector<SubscriberPtr> distribute(const std::vector<db::events::Event>& events);
  base::Duration pause() const;
  rt::Task<std::int64_t> catch_up(Filter filter, std::int64_t after, std::int64_t through, rt::CancelToken cancel,
                                  net::BodyWriter& out);
  rt::Task<std::int64_t> follow(SubscriberPtr self, std::int64_t after, rt::CancelToken cancel, net::BodyWriter& out);

  rt::Loop& home_;
  db::Database& database_;
  rt::Scope& scope_;
  const base::Duration heartbeat_;
  std::map<Filter, std::vector<SubscriberPtr>> by_filter_;
  std::unordered_map<std::string, std::weak_ptr<rt::Notifier>> watched_runs_;
  std::size_t subscribers_ = 0;
  std::int64_t position_ = 0;  // everything up to this id was handed to those who were there
  bool pumping_ = false;
  bool stale_ = true;  // there may be rows after position_
  std::uint64_t reads_ = 0, catch_ups_ = 0;
};

}  // namespace lathe::server
