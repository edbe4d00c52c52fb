#include "sys/own_code.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace lathe::sys {
namespace {

// The mapping that holds a function of this program, as the kernel names it.
std::string mapping_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<unsigned long>(address);
  for (std::string line; std::getline(maps, line);) {
    std::size_t dash = 0, space = 0;
    const auto begin = std::stoul(line, &dash, 16), end = std::stoul(line.substr(dash + 1), &space, 16);
    if (begin <= wanted && wanted < end) return line.substr(dash + space + 2);
  }
  return {};
}

// Code, constants and unwinding, after another fork.
bool works() {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      throw std::runtime_error(mapping_of(reinterpret_cast<const void*>(&works)));
    } catch (const std::exception& error) {
      ::_exit(std::string_view(error.what()).starts_with("r-xp 00000000 00:00 0") ? 0 : 1);
    }
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(OwnCode, IsPrivateMemoryThatForksTakeAlong) {
  EXPECT_FALSE(works()) << "before, it is the program's file";
  const pid_t child = ::fork();
  if (child == 0) {
    own_code();
    ::_exit(works() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_TRUE(WIFEXITED(status)) << "killed by " << WTERMSIG(status);
  EXPECT_EQ(0, WEXITSTATUS(status));
}

}  // namespace
}  // namespace lathe::sys
