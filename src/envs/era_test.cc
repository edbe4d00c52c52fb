#include "envs/era.h"

#include <gtest/gtest.h>

namespace lathe::envs {
namespace {

base::UtcTime at(const char* text) { return base::parse_utc(text).value(); }
const base::UtcTime kNow = at("2026-01-01T00:00:00Z");

TEST(Era, IsTheNewestPinsDatePlusThirtyDays) {
  Era era = decide_era({{"tensorflow-cpu", "2.2.0", at("2020-05-07T18:03:59Z")},
                        {"horovod", "0.19.5", at("2020-06-24T16:47:31Z")},
                        {"private", "1", std::nullopt}},
                       {"", true, "3.6", kNow});
  EXPECT_EQ("2020-07-24T16:47:31Z", era.as_of);
  EXPECT_EQ("pins", era.rule);
  EXPECT_EQ("the newest pin, horovod 0.19.5 is of 2020-06-24, plus 30 days", era.because);
}

TEST(Era, IsTodayWithoutOldPins) {
  EXPECT_EQ("no-pins", decide_era({}, {"", true, "3.6", kNow}).rule);
  EXPECT_EQ("", decide_era({}, {"", true, "3.6", kNow}).as_of);
  Era recent = decide_era({{"old", "1", at("2018-01-01T00:00:00Z")}, {"new", "1", at("2025-12-01T00:00:00Z")}},
                          {"", true, "3.6", kNow});
  EXPECT_EQ("recent-pins", recent.rule);
  EXPECT_EQ("", recent.as_of);
}

TEST(Era, IsNotBeforeThePythonWasInUse) {
  Era era = decide_era({{"chainer", "5.1.0", at("2018-12-03T00:00:00Z")}}, {"", true, "3.11", kNow});
  EXPECT_EQ("2023-04-22T00:00:00Z", era.as_of);
  EXPECT_NE(std::string::npos, era.because.find("Python 3.11 was half a year old"));
  EXPECT_EQ("", decide_era({{"a", "1", at("2018-12-03T00:00:00Z")}}, {"", true, "3.14", kNow}).as_of);
}

TEST(Era, CanBeChosenByTheEnvironmentAndSwitchedOffByTheSite) {
  std::vector<Pin> pins{{"a", "1", at("2018-01-01T00:00:00Z")}};
  EXPECT_EQ("2019-12-31T00:00:00Z", decide_era(pins, {"2019-12-31", false, "3.6", kNow}).as_of);
  EXPECT_EQ("", decide_era(pins, {"off", true, "3.6", kNow}).as_of);
  EXPECT_EQ("off", decide_era(pins, {"", false, "3.6", kNow}).rule);
}

TEST(Era, BecomesArgumentsThatStillAllowBuilds) {
  EXPECT_TRUE(era_arguments("").empty());
  EXPECT_EQ((std::vector<std::string>{"--exclude-newer", "2020-01-01T00:00:00Z"}),
            era_arguments("2020-01-01T00:00:00Z"));
  EXPECT_EQ("setuptools=2019-02-28T00:00:00Z", era_arguments("2018-06-01T00:00:00Z").back());
}

}  // namespace
}  // namespace lathe::envs
