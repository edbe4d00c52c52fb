#include "wire/json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace lathe::wire {
namespace {

using base::Code;

std::string parse_problem(std::string_view text) {
  auto value = parse_json(text);
  return value ? "" : value.error().message();
}

TEST(ParseJson, ReadsWhatIsValid) {
  for (std::string_view good :
       {"{}", " [1, 2.5, \"x\", null, true] ", "\"\\u00e9\"", "7", "{\"a\":{\"a\":1}}", "{\"\":1}"})
    EXPECT_EQ(parse_problem(good), "") << good;
  EXPECT_EQ(to_text(*parse_json("{\"b\":[1,{\"a\":\"\\u00e9\"}],\"c\":18446744073709551615}")),
            "{\"b\":[1,{\"a\":\"é\"}],\"c\":18446744073709551615}");
}

TEST(ParseJson, RefusesWhatIsNot) {
  for (std::string_view bad : {"", " ", "{", "{}}", "{} {}", "[1,]", "{'a':1}", "{\"a\":1,}", "nul", "\"\xff\"",
                               "// x\n1", "NaN", "\"\\ud800\"", "01", "\"a\nb\""})
    EXPECT_NE(parse_problem(bad), "") << bad;
  EXPECT_FALSE(parse_json(std::string_view("1\0", 2)));
}

TEST(ParseJson, RefusesAKeyThatIsThereTwice) {
  auto twice = parse_json("{\"a\":1,\"b\":{\"c\":1,\"\\u0063\":2}}");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message(), "the field 'c' is there twice");
  EXPECT_EQ(twice.error().field(), "c");
  EXPECT_FALSE(parse_json("{\"\":1,\"\":2}"));
}

TEST(ParseJson, IsBoundedInDepthAndSize) {
  EXPECT_TRUE(parse_json(std::string(60, '[') + std::string(60, ']')));
  EXPECT_EQ(parse_problem(std::string(65, '[') + std::string(65, ']')).find("nested too deeply") != std::string::npos,
            true);
  EXPECT_NE(parse_problem(std::string(1'000'000, '[')), "");
  auto large = parse_json("\"" + std::string(100, 'x') + "\"", 50);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), Code::too_large);
}

base::Result<void> read(std::string_view text, const std::function<void(Fields&)>& use,
                        Unknown unknown = Unknown::refuse) {
  LATHE_TRY(auto value, parse_json(text));
  Fields fields(value, unknown);
  use(fields);
  return fields.finish();
}

TEST(Fields, KeepTheirTargetsWhenAbsentOrNull) {
  std::string text = "before";
  int number = 7;
  std::optional<base::Digest> digest;
  ASSERT_TRUE(
      read("{\"text\":null}", [&](Fields& f) { f.text("text", text).integer("number", number).digest("d", digest); }));
  EXPECT_EQ(text, "before");
  EXPECT_EQ(number, 7);
  EXPECT_FALSE(digest);
}

TEST(Fields, AWrongTypeNamesFieldValueAndExpectation) {
  int number = 0;
  auto result = read("{\"node_count\":\"two\"}", [&](Fields& f) { f.integer("node_count", number); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "node_count is \"two\"; expected a whole number");
  EXPECT_EQ(result.error().field(), "node_count");
  EXPECT_FALSE(result.error().hint().empty());
}

TEST(Fields, AnUnknownFieldIsRefusedByNameOrPassedOver) {
  std::string text;
  auto use = [&](Fields& f) { f.text("known", text).object("inner", [](Fields&) {}); };
  EXPECT_EQ(read("{\"knwon\":1}", use).error().field(), "knwon");
  EXPECT_EQ(read("{\"inner\":{\"x\":1}}", use).error().field(), "inner.x");
  EXPECT_TRUE(read("{\"knwon\":1,\"inner\":{\"x\":1}}", use, Unknown::pass));
}

TEST(Fields, TheFirstMistakeIsTheOneReported) {
  int a = 0, b = 0;
  auto result = read("{\"a\":\"x\",\"b\":\"y\"}", [&](Fields& f) { f.integer("a", a).integer("b", b); });
  EXPECT_EQ(result.error().field(), "a");
}

TEST(Fields, ReadEveryKind) {
  double number = 0;
  bool flag = false;
  std::int64_t wide = 0;
  std::vector<std::string> texts{"old"};
  std::map<std::string, std::string> map;
  std::optional<base::UtcTime> time;
  std::vector<int> numbers;
  auto result = read(
      "{\"n\":1,\"f\":true,\"w\":3.0,\"t\":[\"a\",\"b\"],\"m\":{\"k\":\"v\"},\"at\":\"2019-02-19T19:09:19Z\",\"o\":[{"
      "\"x\":1},{\"x\":2}]}",
      [&](Fields& f) {
        f.number("n", number)
            .boolean("f", flag)
            .integer("w", wide)
            .texts("t", texts)
            .text_map("m", map)
            .time("at", time);
        f.objects("o", [&](Fields& nested) { nested.need("x").integer("x", numbers.emplace_back()); });
      });
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(number, 1);
  EXPECT_TRUE(flag);
  EXPECT_EQ(wide, 3);
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(map.at("k"), "v");
  EXPECT_EQ(time->micros, 1550603359000000);
  EXPECT_EQ(numbers, (std::vector<int>{1, 2}));
}

TEST(Fields, RefuseNumbersThatDoNotFit) {
  int narrow = 0;
  std::int64_t wide = 0;
  EXPECT_FALSE(read("{\"a\":3000000000}", [&](Fields& f) { f.integer("a", narrow); }));
  EXPECT_FALSE(read("{\"a\":9223372036854775808}", [&](Fields& f) { f.integer("a", wide); }));
  EXPECT_FALSE(read("{\"a\":1.5}", [&](Fields& f) { f.integer("a", wide); }));
  EXPECT_FALSE(read("{\"a\":1e300}", [&](Fields& f) { f.integer("a", wide); }));
  EXPECT_TRUE(read("{\"a\":-9223372036854775808}", [&](Fields& f) { f.integer("a", wide); }));
}

TEST(Fields, AnythingButAnObjectIsRefused) {
  for (std::string_view text : {"1", "[]", "\"x\"", "null"})
    EXPECT_FALSE(read(text, [](Fields& f) { f.need("x"); })) << text;
  EXPECT_EQ(read("{\"o\":[1]}", [](Fields& f) { f.objects("o", [](Fields&) {}); }).error().field(), "o[0]");
}

}  // namespace
}  // namespace lathe::wire
