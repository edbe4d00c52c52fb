#include "net/pace.h"

#include <gtest/gtest.h>

#include "net/rate_limiter.h"

namespace lathe::net {
namespace {

using namespace std::chrono_literals;

base::SteadyTime at(base::Duration time) { return base::SteadyTime(time); }

TEST(Pace, ATrickleIsJudgedByTheWindowHoweverOftenItMoves) {
  Pace pace(100, 10s);
  // One byte each second, each wait far shorter than the window.
  std::uint64_t moved = 0;
  for (int second = 0; second < 10; ++second) {
    EXPECT_EQ(pace.begin_wait(at(std::chrono::seconds(second)), moved), std::chrono::seconds(10 - second));
    pace.end_wait(at(std::chrono::seconds(second + 1)));
    ++moved;
  }
  EXPECT_EQ(pace.begin_wait(at(10s), moved), 0s);
  EXPECT_FALSE(pace.kept_up(at(10s), moved));
}

TEST(Pace, EnoughInAWindowBuysTheNextOne) {
  Pace pace(100, 10s);
  pace.begin_wait(at(0s), 0);
  EXPECT_TRUE(pace.kept_up(at(10s), 1000));
  pace.end_wait(at(12s));
  EXPECT_EQ(pace.begin_wait(at(20s), 1000), 8s);
  EXPECT_FALSE(pace.kept_up(at(28s), 1999));
}

TEST(Pace, TimeInWhichNobodyWaitedDoesNotCount) {
  Pace pace(100, 10s);
  for (int hour = 0; hour < 9; ++hour) {
    pace.begin_wait(at(std::chrono::hours(hour)), 0);
    pace.end_wait(at(std::chrono::hours(hour) + 1s));
  }
  EXPECT_EQ(pace.begin_wait(at(9h), 0), 1s);
}

TEST(Pace, WithoutAFloorAByteIsEnough) {
  Pace pace(0, 10s);
  pace.begin_wait(at(0s), 5);
  EXPECT_TRUE(pace.kept_up(at(10s), 6));
  EXPECT_FALSE(pace.kept_up(at(20s), 6));
}

TEST(RateLimiter, GivesABurstAndThenARate) {
  RateLimiter limiter(2, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.take("a", at(1s)), 0s);
  EXPECT_EQ(limiter.take("a", at(1s)), 500ms);
  EXPECT_EQ(limiter.take("b", at(1s)), 0s);
  EXPECT_EQ(limiter.take("a", at(1500ms)), 0s);
  EXPECT_EQ(limiter.take("a", at(1500ms)), 500ms);
}

TEST(RateLimiter, ADebtIsPaidByTime) {
  RateLimiter limiter(10, 1);
  EXPECT_EQ(limiter.debt("a", at(1s)), 0s);
  for (int i = 0; i < 11; ++i) limiter.charge("a", at(1s));
  EXPECT_EQ(limiter.debt("a", at(1s)), 1100ms);
  EXPECT_EQ(limiter.debt("a", at(3s)), 0s);
}

TEST(RateLimiter, ForgetsThoseWhoAreQuiet) {
  RateLimiter limiter(1, 1);
  for (int i = 0; i < 100'000; ++i) limiter.take(std::to_string(i), at(std::chrono::milliseconds(10) * i));
  EXPECT_LT(limiter.buckets(), 5000u);
}

TEST(RateLimiter, ARateOfZeroIsNone) {
  RateLimiter limiter(0, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(limiter.take("a", at(0s)), 0s);
}

}  // namespace
}  // namespace lathe::net
