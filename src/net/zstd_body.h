// ZstdBody: a request body with Content-Encoding: zstd, decoded as it is read. Memory is bounded (window ≤ 8 MiB), and
// so is what comes out: a small bomb ends with too_large at the route's limit.
#pragma once

#include <memory>
#include <string>

#include "net/http.h"

namespace lathe::net {

class ZstdBody final : public BodyReader {
 public:
  ZstdBody(BodyReader& compressed, std::uint64_t limit);
  ~ZstdBody() override;
  rt::Task<std::string_view> read() override;
  std::optional<std::uint64_t> content_length() const override { return std::nullopt; }
  rt::Task<void> hold(std::uint64_t bytes) override { return compressed_.hold(bytes); }

 private:
  struct Stream;
  BodyReader& compressed_;
  std::uint64_t left_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace lathe::net
