#include "wire/box_rules.h"

#include <gtest/gtest.h>

namespace lathe::wire {
namespace {

TEST(BoxRules, ComeBackAsTheyWere) {
  const BoxRules rules{{"/state", "/keys"}, {"/state/run"}, "user alice", {"HF_*"}, 100};
  auto back = decode_box_rules(encode_box_rules(rules));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(*back, rules);
}

TEST(BoxRules, FieldsOfALaterVersionArePassedOver) {
  EXPECT_TRUE(decode_box_rules(R"({"hidden": [], "new": 1})"));
  EXPECT_FALSE(decode_box_rules("[]"));
}

}  // namespace
}  // namespace lathe::wire
