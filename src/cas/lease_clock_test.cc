#include "cas/lease_clock.h"

#include <gtest/gtest.h>

#include "cas/testing.h"
#include "sys/clock.h"

namespace lathe::cas {
namespace {

constexpr std::int64_t kSecond = 1'000'000, kDay = 86'400 * kSecond;

class LeaseClockTest : public ::testing::Test {
 protected:
  testing::Folder folder_;
  const std::string path_ = folder_ / "clock";

  std::int64_t open() {
    LeaseClock clock;
    clock.open(path_);
    return clock.now().micros;
  }
  // What is kept, with another boot, boot time or lease time.
  void keep(const std::string& boot, std::int64_t boot_micros, std::int64_t lease_micros) {
    testing::write_file(path_, fmt::format("{} {} {} end\n", boot, boot_micros, lease_micros));
  }
  static std::int64_t boot_micros() {
    return std::chrono::duration_cast<std::chrono::microseconds>(sys::boot_time()).count();
  }
  std::string boot() {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    return id;
  }
};

TEST_F(LeaseClockTest, BeginsAtTheWallClock) {
  EXPECT_NEAR(static_cast<double>(open()), static_cast<double>(sys::utc_now().micros), 60.0 * kSecond);
}

TEST_F(LeaseClockTest, CountsTheTimeBetweenTwoProcessesWhateverTheWallClockSays) {
  keep(boot(), boot_micros() - 5 * kSecond, kDay);  // as if the wall clock had been in 1970 five seconds ago
  EXPECT_NEAR(static_cast<double>(open()), static_cast<double>(kDay + 5 * kSecond), 60.0 * kSecond);
  EXPECT_NEAR(static_cast<double>(open()), static_cast<double>(kDay + 5 * kSecond), 60.0 * kSecond) << "and goes on";
}

TEST_F(LeaseClockTest, StandsStillWhileTheMachineIsOff) {
  keep("another-boot", boot_micros() - 100 * kDay, kDay);
  EXPECT_NEAR(static_cast<double>(open()), static_cast<double>(kDay), 60.0 * kSecond);
}

TEST_F(LeaseClockTest, ATornFileBeginsAnew) {
  testing::write_file(path_, fmt::format("{} 12", boot()));
  EXPECT_NEAR(static_cast<double>(open()), static_cast<double>(sys::utc_now().micros), 60.0 * kSecond);
}

TEST_F(LeaseClockTest, GoesOnWhereItCannotBeKept) {
  keep(boot(), boot_micros() - 5 * kSecond, kDay);
  std::filesystem::create_directory(path_ + ".new");  // as on a full disk, nothing can be written
  EXPECT_NEAR(static_cast<double>(open()), static_cast<double>(kDay + 5 * kSecond), 60.0 * kSecond);
}

TEST_F(LeaseClockTest, CorrectsTheStampOfAKernelWhoseClockWasMoved) {
  keep(boot(), boot_micros(), kDay);
  LeaseClock clock;
  clock.open(path_);
  testing::write_file(folder_ / "file", "new");
  clock.correct((folder_ / "file").string());
  EXPECT_NEAR(static_cast<double>(testing::modified(folder_ / "file")), 86'400.0, 60.0);
}

}  // namespace
}  // namespace lathe::cas
