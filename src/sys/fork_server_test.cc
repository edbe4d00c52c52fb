#include "sys/fork_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include "base/strings.h"
#include "sys/process.h"
#include "sys/process_tree.h"
#include "sys/small_file.h"

namespace lathe::sys {
namespace {

pid_t pid_of(const std::string& handle) {
  return static_cast<pid_t>(base::parse_u64(base::split(handle, ':')[0]).value_or(0));
}

void wait_for_end(pid_t pid) {
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd wait{fd.get(), POLLIN, 0};
  if (fd) ASSERT_EQ(1, ::poll(&wait, 1, 10'000)) << "process " << pid << " still lives";
}

// A fork server forked by the test itself. What it starts writes what it sees to descriptor 3, then waits for the end
// of its standard input's other side, if it was told to stay.
class ForkServerTest : public ::testing::Test {
 public:
  static int play(std::span<const std::string> words) {
    std::string seen;
    for (const auto& word : words) seen += word + " ";
    seen += fmt::format("TOKEN={} INHERITED={} leader={}", std::getenv("TOKEN") ? std::getenv("TOKEN") : "",
                        std::getenv("INHERITED") ? std::getenv("INHERITED") : "", ::getsid(0) == ::getpid());
    for (int fd = 4; fd < 64; ++fd)
      if (::fcntl(fd, F_GETFD) >= 0) seen += fmt::format(" open:{}", fd);
    if (::write(kForkDescriptor, seen.data(), seen.size()) < 0) return 9;
    if (words.back() == "stay") ::pause();
    return 7;
  }

  base::Result<void> start_server(int socket) {
    server_ = ::fork();
    if (server_ == 0) {
      ::setenv("INHERITED", "yes", 1);
      ::dup2(socket, kForkDescriptor);
      close_all_except({kForkDescriptor});
      std::string words = "test" + std::string(1, '\0') + "fork-server" + std::string(1, '\0') + std::string(400, '.');
      char* argv[] = {words.data(), words.data() + 5, words.data() + 17};
      const ProcessTitle title(3, argv);
      ::_exit(serve_forks(title, play) ? 0 : 1);
    }
    ++starts_;
    return {};
  }

  ~ForkServerTest() override {
    client_.reset();
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }

  // What the new process wrote.
  std::string start(std::vector<std::string> words, std::vector<std::string> variables = {}) {
    auto pipe = make_pipe();
    auto handle = client_->start({std::move(words), std::move(variables), pipe->write.get()});
    pipe->write.reset();
    if (!handle) return "error: " + handle.error().text();
    handle_ = *handle;
    char text[4096];
    ssize_t n = ::read(pipe->read.get(), text, sizeof text);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
  }

  pid_t server_ = 0;
  int starts_ = 0;
  std::string handle_;
  std::optional<ForkClient> client_{std::in_place, [this](int socket) { return start_server(socket); }};
};

TEST_F(ForkServerTest, TheNewProcessHasItsWordsVariablesAndDescriptorAndNothingElse) {
  EXPECT_EQ(start({"lathe", "runner", "two words"}, {"TOKEN=a=b"}),
            "lathe runner two words TOKEN=a=b INHERITED=yes leader=true");
  EXPECT_EQ(start({"lathe"}), "lathe TOKEN= INHERITED=yes leader=true");
  EXPECT_EQ(starts_, 1);
}

TEST_F(ForkServerTest, TheHandleNamesTheProcessThatWasStarted) {
  start({"lathe", "stay"});
  const pid_t pid = pid_of(handle_);
  EXPECT_EQ(handle_, fmt::format("{}:{}", pid, process_start(pid)));
  ::kill(pid, SIGKILL);
  wait_for_end(pid);
}

TEST_F(ForkServerTest, WhatWasStartedOutlivesTheForkServerAndANewOneIsStartedWhenNeeded) {
  start({"lathe", "stay"});
  const pid_t first = pid_of(handle_);
  ::kill(server_, SIGKILL);
  ::waitpid(server_, nullptr, 0);
  EXPECT_EQ(::kill(first, 0), 0);
  EXPECT_EQ(start({"again"}), "again TOKEN= INHERITED=yes leader=true");
  EXPECT_EQ(starts_, 2);
  ::kill(first, SIGKILL);
}

TEST_F(ForkServerTest, EndedProcessesAreReaped) {
  start({"lathe"});
  const pid_t first = pid_of(handle_);
  wait_for_end(first);
  start({"lathe"});  // answered after the first one's end was seen
  EXPECT_EQ(process_start(first), "");
  const auto left = descendants(server_);
  EXPECT_LE(left.size(), 1u);
}

TEST_F(ForkServerTest, EndsWithItsClient) {
  {
    ForkClient own([this](int socket) { return start_server(socket); });
    ASSERT_TRUE(own.start({{"lathe"}, {}, -1}));
  }
  wait_for_end(server_);
  int status = 0;
  ::waitpid(server_, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ForkServerTest, WhatDoesNotFitIsToldSoAndNothingIsStarted) {
  auto large = client_->start({{"lathe", std::string(kForkRoom, 'x')}, {}, -1});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), base::Code::too_large);
  EXPECT_TRUE(start({"lathe", std::string(500, 'x')}).starts_with("error: ")) << "longer than the title's room";
  EXPECT_EQ(start({"lathe"}), "lathe TOKEN= INHERITED=yes leader=true");
}

}  // namespace
}  // namespace lathe::sys
