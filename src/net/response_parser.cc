#include "net/response_parser.h"

#include <charconv>

#include "base/strings.h"

namespace lathe::net {
namespace {

using base::Code;

constexpr std::size_t kHeadLimit = 64 * 1024, kLineLimit = 16 * 1024, kFieldLimit = 100;

std::unexpected<base::Error> damaged(std::string_view what) {
  return base::fail(Code::corrupt, "the server's answer is not valid HTTP: {}", what);
}

}  // namespace

base::Result<std::size_t> ResponseParser::put(std::string_view input, std::string_view& piece) {
  piece = {};
  if (state_ == State::body_to_end) {
    piece = input;
    return input.size();
  }
  if (state_ == State::body || state_ == State::chunk_data) {
    piece = input.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size())));
    left_ -= piece.size();
    if (left_ == 0) state_ = state_ == State::body ? State::done : State::chunk_end;
    return piece.size();
  }
  const auto newline = input.find('\n');
  const auto used = newline == input.npos ? input.size() : newline + 1;
  if (line_.size() + used > kLineLimit) return damaged("a line is too long");
  line_ += input.substr(0, used);
  if (newline == input.npos) return used;
  if (!line_.ends_with("\r\n")) return damaged("a line ends without CR");
  line_.resize(line_.size() - 2);
  LATHE_TRY_VOID(on_line(line_));
  line_.clear();
  return used;
}

base::Result<void> ResponseParser::put_end() {
  if (state_ == State::done) return {};
  if (state_ != State::body_to_end)
    return base::fail(Code::unavailable, "the server ended the connection in the middle of an answer");
  state_ = State::done;
  return {};
}

base::Result<void> ResponseParser::on_line(std::string_view line) {
  if (state_ != State::chunk_size && state_ != State::chunk_end && (head_bytes_ += line.size() + 2) > kHeadLimit)
    return damaged("its head is too large");
  switch (state_) {
    case State::status_line:
      return on_status_line(line);
    case State::fields:
      return line.empty() ? on_head_end() : on_field(line);
    case State::chunk_size:
      return on_chunk_size(line);
    case State::chunk_end:
      if (!line.empty()) return damaged("a chunk is longer than it says");
      state_ = State::chunk_size;
      return {};
    default:
      if (line.empty()) state_ = State::done;
      return {};
  }
}

base::Result<void> ResponseParser::on_status_line(std::string_view line) {
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ') return damaged("the status line");
  keep_alive_ = line[7] == '1';
  const auto number = base::parse_u64(line.substr(9, 3));
  if (!number || *number < 100 || *number > 599 || (line.size() > 12 && line[12] != ' ')) return damaged("the status");
  status_ = static_cast<int>(*number);
  state_ = State::fields;
  return {};
}

base::Result<void> ResponseParser::on_field(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == 0 || colon == line.npos || line.substr(0, colon).find_first_of(" \t") != line.npos)
    return damaged("a header field");
  if (headers_.size() >= kFieldLimit) return damaged("too many header fields");
  auto name = base::to_lower(line.substr(0, colon));
  const auto value = base::trim(line.substr(colon + 1));
  const auto [place, fresh] = headers_.emplace(name, value);
  if (fresh) return {};
  if (name == "content-length" || name == "transfer-encoding") return damaged(name + " is there twice");
  place->second += ", " + std::string(value);
  return {};
}

base::Result<void> ResponseParser::on_head_end() {
  if (status_ / 100 == 1) {  // 100 Continue: the real answer follows
    headers_.clear();
    state_ = State::status_line;
    return {};
  }
  if (const auto found = headers_.find("connection");
      found != headers_.end() && base::to_lower(found->second) == "close")
    keep_alive_ = false;
  const auto encoding = headers_.find("transfer-encoding");
  const auto length = headers_.find("content-length");
  if (to_head_ || status_ == 204 || status_ == 304) {
    state_ = State::done;
  } else if (encoding != headers_.end()) {
    if (length != headers_.end() || base::to_lower(encoding->second) != "chunked") return damaged("its framing");
    state_ = State::chunk_size;
  } else if (length != headers_.end()) {
    const auto number = base::parse_u64(length->second);
    if (!number) return damaged("content-length");
    left_ = *number;
    state_ = left_ == 0 ? State::done : State::body;
  } else {
    keep_alive_ = false;
    state_ = State::body_to_end;
  }
  return {};
}

base::Result<void> ResponseParser::on_chunk_size(std::string_view line) {
  const auto digits = base::trim(line.substr(0, line.find(';')));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return damaged("a chunk size");
  state_ = left_ == 0 ? State::trailer : State::chunk_data;
  return {};
}

}  // namespace lathe::net
