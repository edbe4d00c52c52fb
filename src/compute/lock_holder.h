// LockHolder: for tests, a process that holds the lock on a file and has given arguments, as a runner has its folder.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace lathe::compute {

class LockHolder {
 public:
  LockHolder(const std::filesystem::path& file, const std::string& argument, const std::string& second = "") {
    int ready[2], stay[2];
    EXPECT_EQ(0, ::pipe2(ready, O_CLOEXEC));
    EXPECT_EQ(0, ::pipe2(stay, O_CLOEXEC));
    pid_ = ::fork();
    if (pid_ == 0) {
      int fd = ::open(file.c_str(), O_RDONLY);
      ::dup2(stay[0], 0);
      ::dup2(ready[1], 1);
      if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) != 0) ::_exit(1);
      ::execl("/bin/sh", "sh", "-c", "echo; read forever", argument.c_str(), second.c_str(), nullptr);
      ::_exit(1);
    }
    ::close(stay[0]);
    ::close(ready[1]);
    stay_ = stay[1];
    char byte = 0;
    EXPECT_EQ(1, ::read(ready[0], &byte, 1)) << "the lock is taken";
    ::close(ready[0]);
  }
  ~LockHolder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(stay_);
  }
  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int stay_ = -1;  // as long as it is open, the process waits
};

}  // namespace lathe::compute
