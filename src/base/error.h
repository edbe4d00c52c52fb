// Error: the one error type of Lathe. A value; synchronous code returns Result<T>, coroutines throw Error.
// It says what went wrong (message), what was being done (frames, innermost first), and what to do next (hint).
#pragma once

#include <fmt/format.h>

#include <exception>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::base {

enum class Code {
  invalid,       // the caller's input is wrong; `field` names it
  unauthorized,  // no or wrong credential
  forbidden,     // a good credential without the permission
  not_found,
  no_method,  // the thing is there, but does not know this HTTP method
  no_range,   // the range that was asked for lies behind the end
  conflict,   // the same name or id with other content, or a state that does not allow it
  fenced,     // an old attempt speaks; it must stop
  too_large,  // over a limit of size or count
  rate_limited,
  no_space,     // the disk is full
  unavailable,  // try again: the other side is away or stopping
  timeout,
  cancelled,
  corrupt,      // bytes on disk or on the wire do not match their digest or format
  unsupported,  // known, but not offered here
  upstream,     // a server that we asked for the caller did not give what it should have
  io,           // the operating system said no
  internal,     // a bug of ours
};

// The stable word of a code, e.g. "not-found"; used in the API and in logs.
std::string_view code_name(Code code);
// The inverse; an unknown word is `internal`.
Code code_from_name(std::string_view name);
int http_status(Code code);
Code code_from_http_status(int status);
int exit_status(Code code);

class Error : public std::exception {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Error&& hint(std::string text) && {
    hint_ = std::move(text);
    return std::move(*this);
  }
  Error&& field(std::string name) && {
    field_ = std::move(name);
    return std::move(*this);
  }
  // Adds "while <doing>"; call it where the caller knows more than the callee.
  Error&& during(std::string doing) && {
    frames_.push_back(std::move(doing));
    return std::move(*this);
  }

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  const std::string& field() const { return field_; }
  // "message, while a, while b" on one line.
  std::string text() const;
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Code code_;
  std::string message_, hint_, field_;
  std::vector<std::string> frames_;
};

template <class T = void>
using Result = std::expected<T, Error>;

template <class... Args>
std::unexpected<Error> fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected<Error>(Error(code, fmt::format(format, std::forward<Args>(args)...)));
}
inline std::unexpected<Error> fail(Error error) { return std::unexpected<Error>(std::move(error)); }

// errno as an Error: ENOSPC/EDQUOT → no_space, ENOENT → not_found, EEXIST → conflict, EACCES/EPERM → forbidden,
// EMFILE/ENFILE/EAGAIN/ENOMEM (the machine is short of something) → unavailable, else io.
Error errno_error(int number, std::string_view doing);

// For coroutines and for main: unwraps or throws.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::move(result).error();
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace lathe::base

// LATHE_TRY(auto x, expression): x = the value, or return the error from the enclosing function.
#define LATHE_CONCAT_(a, b) a##b
#define LATHE_CONCAT(a, b) LATHE_CONCAT_(a, b)
#define LATHE_TRY(declaration, ...)                                                                                 \
  auto LATHE_CONCAT(result_, __LINE__) = (__VA_ARGS__);                                                             \
  if (!LATHE_CONCAT(result_, __LINE__)) return std::unexpected(std::move(LATHE_CONCAT(result_, __LINE__)).error()); \
  declaration = std::move(*LATHE_CONCAT(result_, __LINE__))
// LATHE_TRY_VOID(expression): return the error from the enclosing function, if any.
#define LATHE_TRY_VOID(...) \
  if (auto result_void_ = (__VA_ARGS__); !result_void_) return std::unexpected(std::move(result_void_).error())
