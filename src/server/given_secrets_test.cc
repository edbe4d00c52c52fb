#include "server/given_secrets.h"

#include <gtest/gtest.h>

namespace lathe::server {
namespace {

using Ids = std::vector<std::string>;

TEST(GivenSecrets, ANodeGetsWhatItDoesNotHideAndSaysWhatItHides) {
  GivenSecrets secrets;
  EXPECT_TRUE(secrets.hides_all(0));
  ASSERT_TRUE(secrets.add("a@1", "first"));
  ASSERT_TRUE(secrets.add("a@1", "first"));
  ASSERT_TRUE(secrets.add("b@1", "second"));
  auto fresh = secrets.exchange(0, Ids{"of another server@0"});
  ASSERT_EQ(fresh.size(), 2u);
  EXPECT_EQ(fresh[0].value, "first");
  EXPECT_FALSE(secrets.is_hidden("a@1", 0)) << "being told is not hiding";
  fresh = secrets.exchange(0, Ids{"a@1"});
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].id, "b@1");
  EXPECT_TRUE(secrets.is_hidden("a@1", 0));
  EXPECT_FALSE(secrets.is_hidden("a@1", 1));
  EXPECT_FALSE(secrets.hides_all(0));
  secrets.exchange(0, Ids{"a@1", "b@1"});
  EXPECT_TRUE(secrets.hides_all(0));
}

TEST(GivenSecrets, AreLimited) {
  GivenSecrets secrets;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(secrets.add(std::to_string(i), "value"));
  EXPECT_EQ(secrets.add("more", "value").error().code(), base::Code::too_large);
  EXPECT_TRUE(secrets.add("999", "value")) << "known already";
}

}  // namespace
}  // namespace lathe::server
