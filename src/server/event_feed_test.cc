#include "server/event_feed.h"

#include <gmock/gmock.h>

#include "base/strings.h"
#include "server/test_support.h"

namespace lathe::server {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

// The ids of the events in a stream.
std::vector<std::int64_t> ids_of(const std::string& text) {
  std::vector<std::int64_t> ids;
  for (const auto& line : base::split(text, '\n'))
    if (line.starts_with("id: ")) ids.push_back(static_cast<std::int64_t>(*base::parse_u64(line.substr(4))));
  return ids;
}

std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> all;
  for (auto id = first; id <= last; ++id) all.push_back(id);
  return all;
}

// Takes nothing until it is told to.
class StuckWriter final : public net::BodyWriter {
 public:
  explicit StuckWriter(rt::Loop& loop) : freed(loop) {}
  rt::Task<void> write(std::string_view bytes) override {
    const std::string copy(bytes);
    while (is_stuck) co_await freed.changed(freed.version());
    text += copy;
  }
  rt::Task<void> write_file(net::FileBody) override { co_return; }
  bool is_stuck = false;
  rt::Notifier freed;
  std::string text;
};

struct Feed : ::testing::Test {
  // Ends all streams before the loop does.
  void run(rt::Task<void> test) {
    run_on(loop, [](Feed& self, rt::Task<void> inner) -> rt::Task<void> {
      std::exception_ptr failed;
      try {
        co_await std::move(inner);
      } catch (...) {
        failed = std::current_exception();
      }
      self.scope.stop();
      co_await self.scope.join();
      if (failed) std::rethrow_exception(failed);
    }(*this, std::move(test)));
  }
  rt::Task<void> add(int count, std::string run = "r", std::string workspace = "ws", bool notify = true) {
    co_await database->write([&](db::Connection& connection) {
      for (int i = 0; i < count; ++i) {
        db::events::Event event{
            .workspace = workspace, .run = 1, .run_id = {run}, .kind = "tags", .reason = "", .at = {1}};
        db::events::append(connection, event);
      }
    });
    if (notify) feed.notify(run);
  }
  void follow(net::BodyWriter& out, EventFeed::Filter filter, std::int64_t after, std::int64_t last) {
    scope.spawn("stream", feed.stream(std::move(filter), after, last, scope.token(), out));
  }
  template <class Condition>
  rt::Task<void> until(Condition condition) {
    for (const auto end = std::chrono::steady_clock::now() + 20s; !condition();) {
      if (std::chrono::steady_clock::now() > end) throw base::Error(base::Code::timeout, "it does not come");
      co_await loop.sleep(1ms);
    }
  }

  TempFolder folder;
  rt::Loop loop;
  std::unique_ptr<db::Database> database =
      base::value_or_throw(db::Database::open(folder.path() / "lathe.db", loop));
  rt::Scope scope;
  EventFeed feed{loop, *database, scope};
};

TEST_F(Feed, OneReadFeedsAllStreams) {
  std::vector<Collector> streams(100);
  run([&]() -> rt::Task<void> {
    for (auto& stream : streams) follow(stream, {"ws", ""}, 0, 0);
    for (int i = 0; i < 50; ++i) co_await add(1);
    co_await until([&] {
      return std::ranges::all_of(streams, [](auto& each) { return ids_of(each.text).size() == 50; });
    });
  }());
  for (auto& stream : streams) EXPECT_THAT(ids_of(stream.text), ElementsAreArray(range(1, 50)));
  EXPECT_LE(feed.reads(), 60u) << "not one for each stream";
  EXPECT_EQ(feed.catch_ups(), 0u);
}

TEST_F(Feed, WhoJoinsInTheMiddleMissesNothingAndHearsNothingTwice) {
  constexpr int kJoiners = 40, kEvents = 400;
  std::vector<Collector> streams(kJoiners);
  std::vector<std::int64_t> begun(kJoiners);
  run([&]() -> rt::Task<void> {
    co_await add(30);
    for (int i = 0; i < kJoiners; ++i) {
      co_await add(5, "r", "ws", i % 3 != 0);  // some are committed and not told yet
      const auto last =
          co_await database->read([](db::Connection& connection) { return db::events::last_id(connection); });
      begun[i] = i % 2 == 0 ? last : last / 2;
      co_await add(3);
      follow(streams[i], {"ws", ""}, begun[i], last);
    }
    co_await add(kEvents - 30 - 8 * kJoiners);
    co_await until([&] {
      return std::ranges::all_of(streams, [](auto& each) {
        const auto ids = ids_of(each.text);
        return !ids.empty() && ids.back() == kEvents;
      });
    });
  }());
  for (int i = 0; i < kJoiners; ++i)
    EXPECT_THAT(ids_of(streams[i].text), ElementsAreArray(range(begun[i] + 1, kEvents)));
}

TEST_F(Feed, AStreamThatIsTooSlowGoesBackToTheDatabase) {
  StuckWriter slow(loop);
  Collector quick;
  int added = 0;
  run([&]() -> rt::Task<void> {
    follow(slow, {"ws", ""}, 0, 0);
    follow(quick, {"ws", ""}, 0, 0);
    co_await add(1);
    ++added;
    co_await until([&] { return ids_of(slow.text).size() == 1; });
    slow.is_stuck = true;
    // More rounds than its queue holds.
    for (int i = 0; i < 100; ++i, ++added) {
      co_await add(1);
      co_await until([&] { return static_cast<int>(ids_of(quick.text).size()) == added + 1; });
    }
    EXPECT_EQ(ids_of(slow.text).size(), 1u);
    EXPECT_EQ(feed.catch_ups(), 0u);
    slow.is_stuck = false;
    slow.freed.notify();
    co_await until([&] { return static_cast<int>(ids_of(slow.text).size()) >= added; });
    co_await add(1);
    ++added;
    co_await until([&] { return static_cast<int>(ids_of(slow.text).size()) >= added; });
  }());
  EXPECT_THAT(ids_of(slow.text), ElementsAreArray(range(1, added)));
  EXPECT_GT(feed.catch_ups(), 0u);
}

TEST_F(Feed, AStreamHearsOnlyWhatItAskedFor) {
  Collector all, one, other;
  run([&]() -> rt::Task<void> {
    follow(all, {"ws", ""}, 0, 0);
    follow(one, {"ws", "a"}, 0, 0);
    follow(other, {"elsewhere", ""}, 0, 0);
    co_await add(1, "a");
    co_await add(1, "b");
    co_await add(1, "a", "elsewhere");
    co_await add(1, "a");
    co_await until([&] {
      return ids_of(all.text).size() == 3 && ids_of(one.text).size() == 2 && !ids_of(other.text).empty();
    });
  }());
  EXPECT_THAT(ids_of(all.text), ElementsAreArray({1, 2, 4}));
  EXPECT_THAT(ids_of(one.text), ElementsAreArray({1, 4}));
  EXPECT_THAT(ids_of(other.text), ElementsAreArray({3}));
}

TEST_F(Feed, AStreamOfARunCatchesUpOnItsOwnEventsAlone) {
  Collector one;
  run([&]() -> rt::Task<void> {
    co_await add(3, "a");
    co_await add(3, "b");
    co_await add(1, "a");
    follow(one, {"ws", "a"}, 1, 7);
    co_await until([&] { return ids_of(one.text).size() == 3; });
  }());
  EXPECT_THAT(ids_of(one.text), ElementsAreArray({2, 3, 7}));
}

TEST_F(Feed, NobodyIsWokenByChangesOfOtherRuns) {
  int woken = 0;
  run([&]() -> rt::Task<void> {
    scope.spawn("watch", [](Feed& self, int& count) -> rt::Task<void> {
      EventFeed::RunWatch watch(self.feed, "mine");
      for (;;) {
        co_await watch.changed(self.scope.token());
        ++count;
      }
    }(*this, woken));
    for (int i = 0; i < 100; ++i) feed.notify("other");
    feed.notify("mine");
    co_await until([&] { return woken == 1; });
    feed.notify();  // of several runs: it may be among them
    co_await until([&] { return woken == 2; });
  }());
  EXPECT_EQ(feed.reads(), 0u) << "nobody follows events";
}

TEST_F(Feed, ASilentStreamHasAHeartbeat) {
  EventFeed lively(loop, *database, scope, 5ms);
  Collector out;
  run([&]() -> rt::Task<void> {
    scope.spawn("stream", lively.stream({"ws", ""}, 0, 0, scope.token(), out));
    co_await until([&] { return out.text.find(":\n\n:\n\n") != std::string::npos; });
  }());
  EXPECT_THAT(out.text, Not(HasSubstr("id:")));
}

}  // namespace
}  // namespace lathe::server
