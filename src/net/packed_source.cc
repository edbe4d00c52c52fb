#include "net/packed_source.h"

#include <cstring>

namespace lathe::net {
namespace {

constexpr std::size_t kPiece = 64 * 1024;

}  // namespace

base::Result<bool> PackedSource::probe() {
  std::string beginning(kPiece, '\0');
  std::size_t filled = 0;
  while (filled < kPiece && !ended_) {
    LATHE_TRY(const auto count, source_(beginning.data() + filled, kPiece - filled));
    filled += count;
    ended_ = count == 0;
  }
  beginning.resize(filled);
  packs_ = filled >= kWorthPacking && is_worth_packing(beginning);
  if (packs_)
    encoder_.put(beginning, ended_ ? ZstdEncoder::After::end : ZstdEncoder::After::more, ready_);
  else
    ready_ = std::move(beginning);
  return packs_;
}

base::Result<std::size_t> PackedSource::read(char* buffer, std::size_t size) {
  while (given_ == ready_.size() && !ended_) LATHE_TRY_VOID(fill());
  const auto count = std::min(size, ready_.size() - given_);
  std::memcpy(buffer, ready_.data() + given_, count);
  given_ += count;
  return count;
}

base::Result<void> PackedSource::fill() {
  ready_.resize(kPiece);
  given_ = 0;
  auto count = source_(ready_.data(), kPiece);
  ready_.resize(count.value_or(0));
  if (!count) return base::fail(std::move(count).error());
  ended_ = *count == 0;
  if (!packs_) return {};
  const auto bytes = std::exchange(ready_, {});
  encoder_.put(bytes, ended_ ? ZstdEncoder::After::end : ZstdEncoder::After::more, ready_);
  return {};
}

}  // namespace lathe::net
