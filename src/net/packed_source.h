// PackedSource: a BodySource that is packed with zstd on its way, if its beginning says that this pays.
#pragma once

#include "net/http_client.h"
#include "net/zstd_stream.h"

namespace lathe::net {

class PackedSource {
 public:
  // `source` must outlive it.
  explicit PackedSource(const BodySource& source) : source_(source) {}

  // Reads the beginning; whether read() will give packed bytes. Otherwise it gives the bytes as they are.
  base::Result<bool> probe();
  base::Result<std::size_t> read(char* buffer, std::size_t size);

 private:
  base::Result<void> fill();

  const BodySource& source_;
  ZstdEncoder encoder_;
  std::string ready_;  // to be given out
  std::size_t given_ = 0;
  bool packs_ = false, ended_ = false;
};

}  // namespace lathe::net
