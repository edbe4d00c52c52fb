// The body of POST blobs/pack: frames [32-byte digest][u64 LE size][bytes]…, ended by a zero frame. Files are read as
// the connection takes them, so that memory stays small however much is sent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/digest.h"
#include "base/error.h"

namespace lathe::cli {

// One blob to be sent: a file, or bytes in memory when `file` is empty.
struct BlobToSend {
  base::Digest digest;
  std::uint64_t size = 0;
  std::filesystem::path file;
  std::string bytes;
};

class PackSource {
 public:
  explicit PackSource(std::span<const BlobToSend* const> blobs) : blobs_(blobs) {}
  ~PackSource();
  PackSource(const PackSource&) = delete;

  std::uint64_t length() const;
  // The next bytes of the stream; 0 at the end. A file that changed its size is a conflict.
  base::Result<std::size_t> read(char* buffer, std::size_t size);

 private:
  base::Result<void> begin_frame();
  base::Result<std::size_t> read_body(char* buffer, std::size_t size);
  std::span<const BlobToSend* const> blobs_;
  std::size_t next_ = 0;
  bool ended_ = false;
  const BlobToSend* current_ = nullptr;
  std::uint64_t left_ = 0;
  int fd_ = -1;
  std::string header_;
  std::size_t header_at_ = 0;
};

}  // namespace lathe::cli
