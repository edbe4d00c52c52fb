#include "server/turns.h"

#include <filesystem>

#include "base/error.h"
#include "server/foreign_error.h"
#include "server/test_support.h"

namespace lathe::server {
namespace {

using base::Code;
using rt::Task;

struct TurnsTest : ::testing::Test {
  rt::Loop home;
  Turns turns{home, 2};
  rt::Scope scope;
  static bool wanted_for_ever() { return false; }

  Task<void> work_that_throws() {
    auto turn = co_await turns.take({}, wanted_for_ever);
    throw std::filesystem::filesystem_error("no such thing", std::make_error_code(std::errc::io_error));
  }
};

TEST_F(TurnsTest, AForeignExceptionGivesThePlaceBack) {
  for (int i = 0; i < 3; ++i) EXPECT_THROW(run_on(home, work_that_throws()), std::filesystem::filesystem_error);
  EXPECT_EQ(turns.free(), 2);
}

TEST_F(TurnsTest, WhoWaitsGetsThePlaceOfWhoEnds) {
  bool second_ran = false;
  run_on(home, [](TurnsTest& test, bool& ran) -> Task<void> {
    auto first = co_await test.turns.take({}, wanted_for_ever);
    {
      auto other = co_await test.turns.take({}, wanted_for_ever);
      test.scope.spawn("waits", [](TurnsTest& each, bool& done) -> Task<void> {
        auto turn = co_await each.turns.take({}, wanted_for_ever);
        done = true;
      }(test, ran));
      EXPECT_FALSE(ran);
    }
    co_await test.scope.join();
  }(*this, second_ran));
  EXPECT_TRUE(second_ran);
  EXPECT_EQ(turns.free(), 2);
}

TEST_F(TurnsTest, WhoIsNotWantedAnyMoreStopsWaiting) {
  bool unwanted = false;
  run_on(home, [](TurnsTest& test, bool& flag) -> Task<void> {
    auto one = co_await test.turns.take({}, wanted_for_ever), two = co_await test.turns.take({}, wanted_for_ever);
    test.scope.spawn("waits", [](TurnsTest& each, bool& given_up) -> Task<void> {
      std::optional<Code> met;
      try {
        co_await each.turns.take({}, [&given_up] { return given_up; });
      } catch (const base::Error& error) {
        met = error.code();
      }
      EXPECT_EQ(met, Code::cancelled);
    }(test, flag));
    flag = true;
    test.turns.look_again();
    co_await test.scope.join();
  }(*this, unwanted));
}

TEST(ForeignError, TellsWhatTheSystemSaid) {
  const std::filesystem::filesystem_error full("write", "/a", std::make_error_code(std::errc::no_space_on_device));
  EXPECT_EQ(as_error(full).code(), Code::no_space);
  EXPECT_EQ(as_error(std::bad_alloc()).code(), Code::internal);
  EXPECT_EQ(as_error(base::Error(Code::conflict, "twice").hint("once")).hint(), "once");
}

}  // namespace
}  // namespace lathe::server
