#include "wire/raw.h"

#include <gtest/gtest.h>

namespace lathe::wire {
namespace {

TEST(RawMember, IsTheTextAsItWasWithoutItsSpaces) {
  const std::string text =
      "{ \"a\" : [ 1 , {\"d\":2} ],\n \"d\" : { \"x\" : 0.30000000000000004 , \"y\" : \" a , } \\\" ] \","
      " \"z\":[ 1E400, -0.0, {} ] } , \"e\":1}";
  EXPECT_EQ(raw_member(text, "d"), R"({"x":0.30000000000000004,"y":" a , } \" ] ","z":[1E400,-0.0,{}]})");
  EXPECT_EQ(raw_member(text, "a"), R"([1,{"d":2}])");
  EXPECT_EQ(raw_member(text, "e"), "1");
  EXPECT_EQ(raw_member(text, "x"), "") << "only members of the object itself";
  EXPECT_EQ(raw_member("{}", "x"), "");
  EXPECT_EQ(raw_member(R"({"\u0064":"\\"})", "d"), R"("\\")");
}

TEST(RawMember, IsAddedAtTheEnd) { EXPECT_EQ(with_raw_member(R"({"a":1})", "b", "[2.0]"), R"({"a":1,"b":[2.0]})"); }

}  // namespace
}  // namespace lathe::wire
