#include "runner/link_source.h"

#include <gtest/gtest.h>

#include "runner/runner_fixture.h"

namespace lathe::runner {
namespace {

class LinkSourceTest : public RunnerTest {
 protected:
  const std::string bytes_ = "bytes of the blob";
  const base::Digest digest_ = base::sha256(bytes_);
  LinkSourceTest() {
    FakeLink link(server_, work_);
    EXPECT_TRUE(link.upload_pack(std::vector<SmallBlob>{{digest_, bytes_}}));
  }
};

TEST_F(LinkSourceTest, GivesUpOnAServerThatStaysAwayAndReadsAgainWhenItIsBack) {
  LinkSource source(link_factory(), quick_, std::chrono::milliseconds(200));
  EXPECT_EQ(bytes_, source.read(digest_, 0, bytes_.size()).value());
  server_.turn_on("down");
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(base::Code::unavailable, source.read(digest_, 0, 5).error().code());
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(200)) << "it waits before it gives up";
  EXPECT_FALSE(source.chunks(digest_)) << "the patience of all readers is over together";
  server_.turn_off("down");
  EXPECT_EQ(bytes_, source.read(digest_, 0, bytes_.size()).value());
}

TEST_F(LinkSourceTest, WaitsForAServerThatIsAwayForAMoment) {
  server_.turn_on("down");
  LinkSource source(link_factory(), quick_, std::chrono::seconds(60));
  std::thread returns([&] {
    EXPECT_TRUE(eventually([&] { return server_.is_on("down"); }));
    server_.turn_off("down");
  });
  EXPECT_EQ(bytes_, source.read(digest_, 0, bytes_.size()).value());
  returns.join();
}

}  // namespace
}  // namespace lathe::runner
