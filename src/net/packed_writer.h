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

// How many answers are being packed. Each costs more than a megabyte for as long as its client takes to read it, so
// that later ones travel as they are.
struct PackingSlots {
  static constexpr int kMost = 16;
  int used = 0;
};

// Closes the descriptor of a FileBody.
class OwnedFile {
 public:
  explicit OwnedFile(int fd) : fd_(fd) {}
  OwnedFile(OwnedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~OwnedFile();

 private:
  int fd_;
};

// Packs the answer's body where the handler allows it, the client asked for it, and there is a slot.
void pack_response(const Request& request, Response& response, PackingSlots& slots);

}  // namespace lathe::net
