#include "server/authority.h"

#include <condition_variable>
#include <deque>
#include <mutex>

#include "compute/local_provider.h"
#include "server/state_dir.h"
#include "server/test_support.h"

namespace lathe::server {
namespace {

// Keeps what is to go on at home until the test says in which order it does.
class HeldHome final : public rt::Executor {
 public:
  void post(std::move_only_function<void()> work) override {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    came_.notify_all();
  }
  // Waits until so much is held.
  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(came_.wait_for(lock, std::chrono::seconds(30), [&] { return queue_.size() >= count; }));
  }
  void run(std::size_t index) {
    std::unique_lock lock(mutex_);
    auto work = std::move(queue_[index]);
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
    lock.unlock();
    work();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::move_only_function<void()>> queue_;
};

struct AuthorityTest : ::testing::Test {
  TempFolder folder;
  StateDir state = base::value_or_throw(StateDir::open(folder / "state"));
  HeldHome held;
  std::unique_ptr<db::Database> database = base::value_or_throw(db::Database::open(state.database(), held));
  std::unique_ptr<cas::DiskStore> store = base::value_or_throw(cas::DiskStore::open(state.store()));
  rt::Loop home;
  rt::BlockingPool files{"files", 1, 16};
  rt::Scope scope;
  compute::LocalProvider provider{{"/bin/true", folder / "work", {}, {}}, home, files};
  SiteConfig site;
  Metrics metrics;
  StoreWork store_work{home, files, *store};
  Reserve reserve{state, home, files, scope};
  EventFeed events{home, *database, scope};
  cas::Views views = base::value_or_throw(cas::Views::open(folder / "views", *store));
  Core core{home,    files,   scope, rt::system_clock(), *database, *store, store_work, views, provider, site,
            metrics, reserve, events};
  Authority authority{core};

  void TearDown() override {
    while (scope.live() > 0) go_on();
  }

  // The next thing that is held goes on.
  void go_on(std::size_t held_before = 0) {
    held.wait_for(held_before + 1);
    held.run(held_before);
  }
  Authority::Created make_token() {
    std::optional<Authority::Created> made;
    scope.spawn("create", [](Authority& authority, auto& out) -> rt::Task<void> {
      out = co_await authority.create({"spy", net::Role::viewer, "", {}}, {"test", 0, ""});
    }(authority, made));
    go_on();
    scope.spawn("number", [](db::Database& database, auto& out) -> rt::Task<void> {
      auto rows = co_await database.read([](db::Connection& connection) { return db::tokens::list(connection); });
      out->row = rows.back();
    }(*database, made));
    go_on();
    return *made;
  }
  // Whether the caller gets in; nothing while that is not decided.
  void knock(const std::string& secret, std::optional<bool>& gets_in) {
    scope.spawn("knock", [](Authority& authority, std::string token, std::optional<bool>& out) -> rt::Task<void> {
      net::Request request;
      request.path = "/api/v1/server";
      request.headers["authorization"] = "Bearer " + token;
      try {
        co_await authority.authenticate(request);
        out = true;
      } catch (const base::Error& error) {
        EXPECT_EQ(error.code(), base::Code::unauthorized);
        out = false;
      }
    }(authority, secret, gets_in));
  }
  void revoke(std::int64_t id) { scope.spawn("revoke", authority.revoke(id, {"test", 0, ""})); }
};

TEST_F(AuthorityTest, ATokenThatIsRevokedWhileItIsLookedUpDoesNotGetIn) {
  auto spy = make_token();
  std::optional<bool> gets_in;
  knock(spy.secret, gets_in);
  held.wait_for(1);  // its row was read, and says that it is good
  revoke(spy.row.id);
  go_on(1);  // the revocation is told first
  go_on();   // what was read is old by now
  ASSERT_EQ(gets_in, std::nullopt);
  go_on();
  EXPECT_EQ(gets_in, false);
}

TEST_F(AuthorityTest, ATokenThatGotInBeforeItsRevocationIsForgottenAndItsRequestsAreEnded) {
  auto spy = make_token();
  std::vector<std::int64_t> ended;
  authority.on_over([&](std::int64_t id) { ended.push_back(id); });
  std::optional<bool> first, second;
  knock(spy.secret, first);
  held.wait_for(1);
  revoke(spy.row.id);
  held.wait_for(2);
  go_on();  // the answer to the look-up is told first: it got in
  EXPECT_EQ(first, true);
  EXPECT_TRUE(ended.empty());
  go_on();
  EXPECT_EQ(ended, std::vector{spy.row.id});
  knock(spy.secret, second);
  // The note of its last use and the look-up may come in any order.
  while (!second) go_on();
  EXPECT_EQ(second, false);
}

}  // namespace
}  // namespace lathe::server
