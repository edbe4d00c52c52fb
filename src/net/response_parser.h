// ResponseParser: the answer of a server, byte by byte, strictly bounded. Knows Content-Length, chunks, and bodies that
// end with the connection. Pure: fed with bytes, gives the head and pieces of the body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/headers.h"

namespace lathe::net {

class ResponseParser {
 public:
  // An answer to HEAD has no body, whatever its fields say.
  explicit ResponseParser(bool to_head) : to_head_(to_head) {}

  // Uses some of `input` and returns how much; `piece` is the part of it that is body. Call again until it is used up.
  base::Result<std::size_t> put(std::string_view input, std::string_view& piece);
  // The connection ended: fine only where that is the end of the body.
  base::Result<void> put_end();

  bool has_head() const { return state_ >= State::body; }
  bool is_done() const { return state_ == State::done; }
  bool keep_alive() const { return keep_alive_; }
  int status() const { return status_; }
  Headers& headers() { return headers_; }

 private:
  enum class State { status_line, fields, body, body_to_end, chunk_size, chunk_data, chunk_end, trailer, done };
  base::Result<void> on_line(std::string_view line);
  base::Result<void> on_status_line(std::string_view line);
  base::Result<void> on_field(std::string_view line);
  base::Result<void> on_head_end();
  base::Result<void> on_chunk_size(std::string_view line);

  bool to_head_;
  State state_ = State::status_line;
  std::string line_;
  std::size_t head_bytes_ = 0;
  int status_ = 0;
  bool keep_alive_ = true;
  Headers headers_;
  std::uint64_t left_ = 0;  // of the body or the chunk
};

}  // namespace lathe::net
