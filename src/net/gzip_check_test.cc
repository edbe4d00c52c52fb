#include "net/gzip_check.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lathe::net {
namespace {

// Made by gzip of "hello hello hello\\n": alone, and with every field that a header may have.
const std::string kPlain = *base::from_hex("1f8b08000000000002ffcb48cdc9c957c840905c003b7c8adf12000000");
const std::string kFull = *base::from_hex(
    "1f8b081e000000000003030078797a6e616d6500636f6d6d656e7400a4bbcb48cdc9c957c840905c003b7c8adf12000000");

base::Result<void> check(const std::string& bytes, std::size_t piece = 3) {
  std::size_t at = 0;
  return check_gzip([&](char* buffer, std::size_t size) -> base::Result<std::size_t> {
    const std::size_t n = std::min({piece, size, bytes.size() - at});
    bytes.copy(buffer, n, at);
    at += n;
    return n;
  });
}

TEST(GzipCheck, TakesWholeFilesOfOneAndOfSeveralMembers) {
  for (std::size_t piece : {1u, 2u, 7u, 1000u}) {
    EXPECT_TRUE(check(kPlain, piece));
    EXPECT_TRUE(check(kFull, piece));
    EXPECT_TRUE(check(kPlain + kFull + kPlain, piece));
    EXPECT_TRUE(check(kPlain + std::string(512, '\0'), piece)) << "padding";
  }
}

TEST(GzipCheck, RefusesWhatIsCutAnywhere) {
  for (std::size_t size = 0; size < kFull.size(); ++size) {
    auto checked = check(kFull.substr(0, size));
    ASSERT_FALSE(checked) << size;
    EXPECT_EQ(checked.error().code(), base::Code::corrupt);
  }
  EXPECT_FALSE(check(kPlain + kPlain.substr(0, 12)));
}

TEST(GzipCheck, NoticesEveryChangedByteOfTheDataAndTheTrailer) {
  for (std::size_t at = 10; at < kPlain.size(); ++at) {
    auto damaged = kPlain;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_FALSE(check(damaged)) << at;
  }
  EXPECT_EQ(check("<html>not found</html>").error().message(), "its bytes are not gzip");
}

TEST(GzipCheck, ErrorsOfTheReaderComeBack) {
  auto checked = check_gzip([](char*, std::size_t) -> base::Result<std::size_t> {
    return base::fail(base::Code::cancelled, "nobody waits");
  });
  EXPECT_EQ(checked.error().code(), base::Code::cancelled);
}

}  // namespace
}  // namespace lathe::net
