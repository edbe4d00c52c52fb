#include "db/log_format.h"

#include <bit>
#include <cstring>

namespace lathe::db::log_format {

namespace {

constexpr std::uint32_t kMagic = 0x377f0682;  // | 1 when words are big-endian
constexpr std::uint32_t kVersion = 3007000;
constexpr std::size_t kIndexCopy = 48;

std::uint32_t load_native(const unsigned char* at) {
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

Sum add(Sum sum, Bytes bytes, bool big_endian) {
  const bool swap = big_endian != (std::endian::native == std::endian::big);
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint32_t even = load_native(&bytes[at]), odd = load_native(&bytes[at + 4]);
    if (swap) even = std::byteswap(even), odd = std::byteswap(odd);
    sum.first += even + sum.second;
    sum.second += odd + sum.first;
  }
  return sum;
}

}  // namespace

std::uint32_t load_big(const unsigned char* at) {
  const std::uint32_t word = load_native(at);
  return std::endian::native == std::endian::little ? std::byteswap(word) : word;
}

std::int64_t frame_of_page(std::int64_t offset) {
  const std::int64_t in_frames = offset - kHeader - kFrameHeader;
  return in_frames >= 0 && in_frames % kFrame == 0 ? in_frames / kFrame + 1 : 0;
}

bool is_whole_frame(Sum before, Bytes frame_header, Bytes page) {
  const Sum stored = load_sum(&frame_header[16]);
  // The byte order is the machine's that wrote the log; a log that came from another machine has the other one.
  for (const bool big_endian : {std::endian::native == std::endian::big, std::endian::native == std::endian::little}) {
    if (add(add(before, frame_header.first(8), big_endian), page, big_endian) == stored) return true;
  }
  return false;
}

std::optional<Header> read_header(Bytes bytes) {
  if (bytes.size() < static_cast<std::size_t>(kHeader)) return std::nullopt;
  const std::uint32_t magic = load_big(&bytes[0]);
  if ((magic & ~1U) != kMagic || load_big(&bytes[4]) != kVersion || load_big(&bytes[8]) != kPageSize)
    return std::nullopt;
  if (add({}, bytes.first(24), (magic & 1) != 0) != load_sum(&bytes[24])) return std::nullopt;
  return Header{load_salt(&bytes[16])};
}

// Two equal copies: version, unused, change counter, flags and page size, last frame, pages, sum of the last frame,
// salt (as in the log), sum of all this. In the machine's byte order.
std::optional<LastCommit> read_index(Bytes bytes) {
  if (bytes.size() < 2 * kIndexCopy || std::memcmp(&bytes[0], &bytes[kIndexCopy], kIndexCopy) != 0) return std::nullopt;
  const Sum stored{load_native(&bytes[40]), load_native(&bytes[44])};
  if (load_native(&bytes[0]) != kVersion || bytes[12] == 0) return std::nullopt;
  if (add({}, bytes.first(40), std::endian::native == std::endian::big) != stored) return std::nullopt;
  return LastCommit{load_native(&bytes[16]), load_salt(&bytes[32])};
}

}  // namespace lathe::db::log_format
