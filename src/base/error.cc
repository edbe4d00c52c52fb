#include "base/error.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace lathe::base {
namespace {

struct CodeRow {
  Code code;
  std::string_view name;
  int http;
  int exit;
};

// One table maps codes to words, HTTP status and exit status (docs/user/operations.md lists the exit codes).
constexpr std::array kCodes{
    CodeRow{Code::invalid, "invalid", 400, 2},
    CodeRow{Code::unauthorized, "unauthorized", 401, 4},
    CodeRow{Code::forbidden, "forbidden", 403, 4},
    CodeRow{Code::not_found, "not-found", 404, 5},
    CodeRow{Code::no_method, "method-not-allowed", 405, 2},
    CodeRow{Code::no_range, "range-not-satisfiable", 416, 2},
    CodeRow{Code::conflict, "conflict", 409, 6},
    CodeRow{Code::fenced, "attempt-fenced", 409, 6},
    CodeRow{Code::too_large, "too-large", 413, 2},
    CodeRow{Code::rate_limited, "rate-limited", 429, 7},
    CodeRow{Code::no_space, "no-space", 507, 8},
    CodeRow{Code::unavailable, "unavailable", 503, 7},
    CodeRow{Code::timeout, "timeout", 504, 7},
    CodeRow{Code::cancelled, "cancelled", 499, 130},
    CodeRow{Code::corrupt, "corrupt", 422, 9},
    CodeRow{Code::unsupported, "unsupported", 501, 3},
    CodeRow{Code::upstream, "upstream", 502, 7},
    CodeRow{Code::io, "io", 500, 1},
    CodeRow{Code::internal, "internal", 500, 1},
};

const CodeRow& row(Code code) {
  for (const auto& row : kCodes)
    if (row.code == code) return row;
  return kCodes.back();
}

}  // namespace

std::string_view code_name(Code code) { return row(code).name; }
int http_status(Code code) { return row(code).http; }
int exit_status(Code code) { return row(code).exit; }

Code code_from_name(std::string_view name) {
  for (const auto& row : kCodes)
    if (row.name == name) return row.code;
  return Code::internal;
}

Code code_from_http_status(int status) {
  for (const auto& row : kCodes)
    if (row.http == status) return row.code;
  return status >= 500 ? Code::internal : Code::invalid;
}

std::string Error::text() const {
  std::string out = message_;
  for (const auto& frame : frames_) out += ", while " + frame;
  return out;
}

Error errno_error(int number, std::string_view doing) {
  Code code = Code::io;
  switch (number) {
    case ENOSPC:
    case EDQUOT:
      code = Code::no_space;
      break;
    case ENOENT:
    case ENOTDIR:
      code = Code::not_found;
      break;
    case EEXIST:
      code = Code::conflict;
      break;
    case EACCES:
    case EPERM:
      code = Code::forbidden;
      break;
    case ETIMEDOUT:
      code = Code::timeout;
      break;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EMFILE:  // descriptors, processes or memory: there may be some again a moment later
    case ENFILE:
    case EAGAIN:
    case ENOMEM:
      code = Code::unavailable;
      break;
    default:
      break;
  }
  return Error(code, fmt::format("{}: {}", doing, std::strerror(number)));
}

}  // namespace lathe::base
