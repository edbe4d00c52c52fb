// ChunkWriter: the body of a streamed answer on its connection, in chunks, or as it is for a client of HTTP/1.0, for
// which the end of the connection is the end of the body. Home thread; throws as Connection does.
#pragma once

#include <fmt/format.h>

#include "net/connection.h"

namespace lathe::net {

class ChunkWriter final : public BodyWriter {
 public:
  ChunkWriter(Connection& connection, bool chunked) : connection_(connection), chunked_(chunked) {}
  rt::Task<void> write(std::string_view bytes) override {
    if (bytes.empty()) co_return;  // an empty chunk would end the body
    if (chunked_)
      co_await connection_.write({fmt::format("{:x}\r\n", bytes.size()), bytes, "\r\n"});
    else
      co_await connection_.write({bytes});
  }
  rt::Task<void> write_file(FileBody piece) override {
    if (piece.length == 0) co_return;
    if (chunked_) co_await connection_.write({fmt::format("{:x}\r\n", piece.length)}, true);
    co_await connection_.send_file(piece);
    if (chunked_) co_await connection_.write({"\r\n"});
  }
  rt::Task<void> end() {
    if (chunked_) co_await connection_.write({"0\r\n\r\n"});
  }

 private:
  Connection& connection_;
  bool chunked_;
};

}  // namespace lathe::net
