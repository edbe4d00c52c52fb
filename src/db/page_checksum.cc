#include "db/page_checksum.h"

#include <array>
#include <bit>
#include <cstring>

namespace lathe::db {

namespace {

constexpr int kContent = kPageSize - kPageTrailer;
constexpr char kMark[8] = {'l', 'a', 't', 'h', 'e', 'p', 'g', '1'};
constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, odd
constexpr std::size_t kLanes = 4;

// As little-endian, so that a database can be read on every machine.
std::uint64_t load_word(const unsigned char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = std::byteswap(word);
  return word;
}

std::uint64_t mix(std::uint64_t state, std::uint64_t word) { return std::rotl((state ^ word) * kFactor, 31); }

std::uint64_t hash_page(const unsigned char* page, std::uint32_t number) {
  static_assert(kContent % 8 == 0);
  std::array<std::uint64_t, kLanes> lanes{1, 2, 3, 4};
  int at = 0;
  for (; at + 32 <= kContent; at += 32) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = mix(lanes[lane], load_word(page + at + lane * 8));
  }
  for (std::size_t lane = 0; at < kContent; at += 8, ++lane) lanes[lane] = mix(lanes[lane], load_word(page + at));
  std::uint64_t hash = number;
  for (const std::uint64_t lane : lanes) hash = mix(hash, lane);
  hash = (hash ^ (hash >> 33)) * kFactor;
  return hash ^ (hash >> 29);
}

}  // namespace

void seal_page(unsigned char* page, std::uint32_t number) {
  std::uint64_t hash = hash_page(page, number);
  if constexpr (std::endian::native == std::endian::big) hash = std::byteswap(hash);
  std::memcpy(page + kContent, kMark, sizeof kMark);
  std::memcpy(page + kContent + sizeof kMark, &hash, sizeof hash);
}

bool is_whole_page(const unsigned char* page, std::uint32_t number) {
  return has_page_mark(page) && load_word(page + kContent + sizeof kMark) == hash_page(page, number);
}

bool has_page_mark(const unsigned char* page) { return std::memcmp(page + kContent, kMark, sizeof kMark) == 0; }

}  // namespace lathe::db
