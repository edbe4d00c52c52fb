#include "base/seal.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lathe::base {
namespace {

TEST(Seal, OpensWithItsKeyInItsPlace) {
  const std::string key = random_bytes(kSealKeyBytes);
  for (const std::string& text :
       {std::string(), std::string("a"), std::string("\0\xff", 2), std::string(100'000, 'x')}) {
    const std::string sealed = seal(key, "place", text);
    EXPECT_EQ(sealed.size(), text.size() + 28);
    EXPECT_EQ(unseal(key, "place", sealed).value(), text);
  }
}

TEST(Seal, IsNeverTheSameTwiceAndShowsNothing) {
  const std::string key = random_bytes(kSealKeyBytes);
  EXPECT_NE(seal(key, "", "password"), seal(key, "", "password"));
  EXPECT_EQ(seal(key, "", "password").find("password"), std::string::npos);
}

TEST(Seal, NoticesEveryChange) {
  const std::string key = random_bytes(kSealKeyBytes), sealed = seal(key, "place", "password");
  EXPECT_FALSE(unseal(random_bytes(kSealKeyBytes), "place", sealed));
  EXPECT_FALSE(unseal(key, "elsewhere", sealed));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(unseal(key, "place", changed).error().code(), Code::corrupt) << i;
    EXPECT_FALSE(unseal(key, "place", sealed.substr(0, i)));
  }
}

}  // namespace
}  // namespace lathe::base
