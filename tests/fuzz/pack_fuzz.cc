// A pack stream, fed in pieces whose size the first byte chooses: the outcome must not depend on it, and every blob
// that reaches the sink must have been announced whole.
#include <utility>

#include "cas/pack.h"

namespace {

class Counting final : public lathe::cas::BlobSink {
 public:
  lathe::base::Result<void> begin(std::optional<lathe::base::Digest>) override {
    if (open_) __builtin_trap();
    open_ = true;
    return {};
  }
  lathe::base::Result<void> write(std::string_view piece) override {
    if (!open_ || piece.empty()) __builtin_trap();
    size_ += piece.size();
    return {};
  }
  lathe::base::Result<lathe::cas::BlobInfo> finish() override {
    if (!open_) __builtin_trap();
    open_ = false;
    ++blobs;
    bytes += std::exchange(size_, 0);
    return lathe::cas::BlobInfo{};
  }
  std::uint64_t blobs = 0, bytes = 0;

 private:
  bool open_ = false;
  std::uint64_t size_ = 0;
};

bool decode(std::string_view input, std::size_t step, Counting& sink) {
  lathe::cas::PackDecoder decoder(sink);
  for (std::size_t i = 0; i < input.size(); i += step)
    if (!decoder.feed(input.substr(i, step))) return false;
  return decoder.finish().has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  Counting pieces, whole;
  bool a = decode(input, data[0] % 64 + 1u, pieces), b = decode(input, input.size() + 1, whole);
  if (a != b || pieces.blobs != whole.blobs || pieces.bytes != whole.bytes) __builtin_trap();
  return 0;
}
