// LATHE_CHECK: for bugs, always on, never for input. It says where and why, then aborts; the restart path recovers.
#pragma once

#include <fmt/format.h>

#include <string>

namespace lathe::base {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& why);

}  // namespace lathe::base

#define LATHE_CHECK(condition, ...)                                                                          \
  do {                                                                                                       \
    if (!(condition)) ::lathe::base::check_failed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
  } while (false)
