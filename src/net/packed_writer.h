// PackedWriter: a BodyWriter that packs with zstd what goes through it. Each write is flushed, so that a follower sees
// it at once. Home thread.
#pragma once

#include "net/http.h"
#include "net/zstd_stream.h"

namespace lathe::net {

class PackedWriter final : public BodyWriter {
 public:
  explicit PackedWriter(BodyWriter& out) : out_(out) {}
  rt::Task<void> write(std::string_view bytes) override;
  rt::Task<void> write_file(FileBody piece) override;
  rt::Task<void> end();

 private:
  BodyWriter& out_;
  ZstdEncoder encoder_;
  std::string packed_;
};

// Packs the answer's body where the handler allows it and the client asked for it.
void pack_response(const Request& request, Response& response);

}  // namespace lathe::net
