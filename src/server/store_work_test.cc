#include "server/store_work.h"

#include <future>

#include "server/test_support.h"

namespace lathe::server {
namespace {

using base::Code;
using base::Error;
using rt::Task;

struct StoreWorkTest : ::testing::Test {
  TempFolder folder;
  std::unique_ptr<cas::DiskStore> store = base::value_or_throw(cas::DiskStore::open(folder / "store"));
  rt::Loop home;
  rt::BlockingPool files{"files", 1, 16};
  StoreWork work{home, files, *store};
  rt::Scope scope;

  // Works until it is told not to go on.
  static int endless(const StoreWork::GoOn& go_on) {
    while (go_on()) std::this_thread::yield();
    throw Error(Code::cancelled, "given up");
  }
  Task<void> expect_code(Task<int> task, Code expected, int& met) {
    try {
      co_await std::move(task);
      ADD_FAILURE() << "no error came";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), expected) << error.text();
      EXPECT_TRUE(expected == Code::cancelled || !error.hint().empty());
    }
    ++met;
  }
};

TEST_F(StoreWorkTest, ASecondOfTheSameKindIsRefusedAndAnotherKindIsNot) {
  int met = 0;
  rt::CancelSource client;
  scope.spawn("first", expect_code(work.run_alone("a check", client.token(), endless), Code::cancelled, met));
  run_on(home, [](StoreWorkTest& test, rt::CancelSource client, int& met) -> Task<void> {
    co_await test.expect_code(test.work.run_alone("a check", {}, endless), Code::conflict, met);
    EXPECT_EQ(co_await test.work.run_alone("a collection", {}, [](const auto&) { return 7; }), 7);
    EXPECT_EQ(co_await test.work.run([] { return 8; }), 8);
    client.cancel();  // its client went away: the turn is free again
    co_await test.scope.join();
    EXPECT_EQ(co_await test.work.run_alone("a check", {}, [](const auto&) { return 9; }), 9);
  }(*this, client, met));
  EXPECT_EQ(met, 2);
}

TEST_F(StoreWorkTest, StoppingEndsWhatIsUnderWayAndWhatComesLater) {
  int met = 0;
  scope.spawn("first", expect_code(work.run_alone("a check", {}, endless), Code::cancelled, met));
  run_on(home, [](StoreWorkTest& test, int& met) -> Task<void> {
    test.work.stop();
    co_await test.scope.join();
    co_await test.expect_code(test.work.run_alone("a check", {}, endless), Code::cancelled, met);
  }(*this, met));
  EXPECT_EQ(met, 2);
}

}  // namespace
}  // namespace lathe::server
