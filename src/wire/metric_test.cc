#include "wire/metric.h"

#include <gtest/gtest.h>

namespace lathe::wire {
namespace {

TEST(MetricLine, IsAnyRecordWithANameAKindAValueAndATime) {
  for (const char* value :
       {"1", "1.5", "\"text\"", "null", "true", "[1,2]", R"({"float":"NaN"})", R"({"x":[1,2.0]})"}) {
    auto line = fmt::format(R"({{"name":"loss ü","kind":"scalar","value":{},"time":1.5}})", value);
    EXPECT_EQ(check_metric(line).value(), "loss ü") << value;
    EXPECT_EQ(metric_name(line), "loss ü");
  }
  EXPECT_TRUE(check_metric(R"({"time":1,"value":0,"kind":"x","name":"n","step":3,"description":"d"})"));
  EXPECT_TRUE(check_metric(R"({"time":1,"value":0,"kind":"x","name":"n","step":null,"description":null})"));
}

TEST(MetricLine, SaysWhatIsWrongWithAnythingElse) {
  const std::string good = R"("name":"n","kind":"k","value":1,"time":1)";
  for (const std::string& line :
       {std::string(""), std::string("{"), std::string("[]"), std::string("nan"), std::string(R"({"name":"n"})"),
        "{" + good + R"(,"run":"r"})", "{" + good + R"(,"step":1.5})", "{" + good + R"(,"name":"twice"})",
        "{" + good + "} x", std::string(R"({"name":"","kind":"k","value":1,"time":1})"),
        std::string(R"({"name":1,"kind":"k","value":1,"time":1})"),
        std::string(R"({"name":"n","kind":"k","value":NaN,"time":1})"),
        std::string(R"({"name":"n","kind":"k","value":1,"time":"now"})"),
        fmt::format(R"({{"name":"{}","kind":"k","value":1,"time":1}})", std::string(256, 'n')),
        std::string("{\"name\":\"\xff\",\"kind\":\"k\",\"value\":1,\"time\":1}"),
        std::string(kMaxMetricLine + 1, ' ')}) {
    auto checked = check_metric(line);
    ASSERT_FALSE(checked) << line;
    EXPECT_FALSE(checked.error().message().empty());
  }
}

}  // namespace
}  // namespace lathe::wire
