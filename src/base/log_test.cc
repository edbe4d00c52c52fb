#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <sstream>

namespace lathe::base {
namespace {

namespace fs = std::filesystem;

// Standard error is another descriptor while this lives.
class OtherStderr {
 public:
  explicit OtherStderr(int fd) : before_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10)) { ::dup2(fd, STDERR_FILENO); }
  ~OtherStderr() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }

 private:
  int before_;
};

std::string read_all(int fd) {
  std::string text(1u << 20, '\0');
  const auto got = ::read(fd, text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// Logs far more than the reader's end holds. Whether that came to its end while nobody read.
bool logs_without_a_reader(int writer, int reader) {
  OtherStderr other(writer);
  auto done = std::async(std::launch::async, [] {
    for (int i = 0; i < 20'000; ++i) log::warn("a line that nobody reads", {{"number", i}});
  });
  if (done.wait_for(std::chrono::seconds(20)) == std::future_status::ready) return true;
  while (done.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) read_all(reader);
  return false;
}

void expect_dropped_lines_are_told(int writer, int reader) {
  ASSERT_TRUE(logs_without_a_reader(writer, reader)) << "it waited for a reader";
  auto held = read_all(reader);
  EXPECT_NE(held.find("\"number\":\"0\""), std::string::npos);
  EXPECT_EQ(held.find("\"number\":\"19999\""), std::string::npos);
  {
    OtherStderr other(writer);
    log::info("it is read again");
  }
  auto after = read_all(reader);
  EXPECT_NE(after.find("log lines were dropped"), std::string::npos) << after;
  EXPECT_NE(after.find("it is read again"), std::string::npos) << after;
}

TEST(Log, APipeThatNobodyReadsStopsNobody) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  expect_dropped_lines_are_told(ends[1], ends[0]);
  EXPECT_EQ(::fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0) << "others that write there find it as it was";
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Log, ASocketThatNobodyReadsStopsNobody) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  expect_dropped_lines_are_told(ends[1], ends[0]);
  ::close(ends[0]);
  ::close(ends[1]);
}

struct LogFile : ::testing::Test {
  std::string folder = fs::temp_directory_path() / "lathe-log.XXXXXX";
  // Both: where they are the same file, they go on being one.
  int before = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10), before_out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  void SetUp() override {
    std::fflush(stdout);
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  }
  void TearDown() override {
    std::fflush(stdout);
    ::dup2(before, STDERR_FILENO);
    ::dup2(before_out, STDOUT_FILENO);
    ::close(before);
    ::close(before_out);
    fs::remove_all(folder);
  }
  std::string file(const std::string& name = "server.log") const { return folder + "/" + name; }
  static std::string text(const std::string& path) {
    std::stringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
};

TEST_F(LogFile, IsRotatedAndItsOldestPartsGo) {
  ASSERT_EQ(log::use_file(file(), 4000, 2), 0);
  for (int i = 0; i < 1000; ++i) log::warn("a line", {{"number", i}});
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename());
    EXPECT_LT(entry.file_size(), 4200u) << entry.path();
  }
  EXPECT_EQ(names, (std::set<std::string>{"server.log", "server.log.1", "server.log.2"}));
  EXPECT_NE(text(file()).find("\"number\":\"999\""), std::string::npos);
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(LogFile, IsOpenedAnewWhenItWasMovedAway) {
  ASSERT_EQ(log::use_file(file()), 0);
  log::warn("before");
  fs::rename(file(), file("moved"));
  log::warn("to the moved one");
  log::reopen();
  log::warn("after");
  EXPECT_NE(text(file("moved")).find("to the moved one"), std::string::npos);
  EXPECT_EQ(text(file("moved")).find("after"), std::string::npos);
  EXPECT_NE(text(file()).find("after"), std::string::npos);
}

TEST_F(LogFile, ThatCannotBeOpenedIsAnError) { EXPECT_EQ(log::use_file(file("absent/server.log")), ENOENT); }

}  // namespace
}  // namespace lathe::base
