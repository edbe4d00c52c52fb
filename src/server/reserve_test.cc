#include "server/reserve.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

namespace lathe::server {
namespace {

using base::Code;
using base::Error;
using rt::Task;
namespace fs = std::filesystem;

class ReserveTest : public testing::Test {
 protected:
  ReserveTest() {
    std::string name = fs::temp_directory_path() / "lathe-reserve.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    state_.emplace(StateDir::open(folder_ / "state").value());
    EXPECT_TRUE(state_->ensure_reserve());
  }
  ~ReserveTest() override {
    files_.stop();
    fs::remove_all(folder_);
  }

  // Runs `body` with a reserve that is full, then stops.
  void run(std::function<Task<void>(Reserve&)> body) {
    rt::Scope outer;
    outer.spawn("test", [](ReserveTest& test, std::function<Task<void>(Reserve&)> work) -> Task<void> {
      rt::Scope scope;
      Reserve reserve(*test.state_, test.home_, test.files_, scope);
      reserve.start(true);
      co_await work(reserve);
      scope.stop();
      co_await scope.join();
      test.home_.stop();
    }(*this, std::move(body)));
    home_.run();
  }

  std::int64_t reserved_blocks() const {
    struct stat status{};
    ::stat((folder_ / "state" / "reserve").c_str(), &status);
    return status.st_blocks;
  }

  // A write that meets a full disk the first `failures` times.
  Task<int> write(int failures) {
    if (++calls_ <= failures) throw Error(Code::no_space, "full");
    co_return calls_;
  }

  fs::path folder_;
  std::optional<StateDir> state_;
  rt::Loop home_;
  rt::BlockingPool files_{"files", 1, 16};
  int calls_ = 0;
};

bool has_room(const Reserve& reserve) {
  try {
    reserve.require_room();
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(Code::no_space, error.code());
    return false;
  }
}

TEST_F(ReserveTest, IsLeftAloneAsLongAsThereIsRoom) {
  run([&](Reserve& reserve) -> Task<void> {
    EXPECT_EQ(1, co_await reserve.spend([&] { return write(0); }));
    EXPECT_TRUE(has_room(reserve));
    EXPECT_GT(reserved_blocks(), 0);
  });
}

TEST_F(ReserveTest, IsSpentOnAFullDiskAndThenRefusesNewWork) {
  run([&](Reserve& reserve) -> Task<void> {
    EXPECT_EQ(2, co_await reserve.spend([&] { return write(1); }));
    EXPECT_FALSE(has_room(reserve));
    EXPECT_EQ(0, reserved_blocks());
  });
}

TEST_F(ReserveTest, IsSpentOnce) {
  run([&](Reserve& reserve) -> Task<void> {
    bool refused = false;
    try {
      co_await reserve.spend([&] { return write(5); });
    } catch (const Error& error) {
      refused = error.code() == Code::no_space;
    }
    EXPECT_TRUE(refused);
    EXPECT_EQ(2, calls_);
  });
}

TEST_F(ReserveTest, PassesOtherErrorsOnUntouched) {
  run([&](Reserve& reserve) -> Task<void> {
    bool conflict = false;
    try {
      co_await reserve.spend([&]() -> Task<int> { throw Error(Code::conflict, "no"); });
    } catch (const Error& error) {
      conflict = error.code() == Code::conflict;
    }
    EXPECT_TRUE(conflict);
    EXPECT_TRUE(has_room(reserve));
  });
}

TEST_F(ReserveTest, FillsItselfWhenThereIsRoomAgain) {
  run([&](Reserve& reserve) -> Task<void> {
    // The third call comes after the pause in which the reserve, on a disk with room, is filled again.
    EXPECT_EQ(3, co_await reserve.insist([&] { return write(2); }));
    while (!has_room(reserve)) co_await home_.sleep(std::chrono::milliseconds(10), {});
    EXPECT_GT(reserved_blocks(), 0);
  });
}

}  // namespace
}  // namespace lathe::server
