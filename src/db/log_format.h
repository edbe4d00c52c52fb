// The parts of SQLite's write-ahead log ("-wal") and its index ("-shm") that we check ourselves; both are documented
// in "The SQLite Database File Format" and "WAL-mode File Format". Pure functions over bytes, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "db/page_checksum.h"

namespace lathe::db::log_format {

inline constexpr std::int64_t kHeader = 32;
inline constexpr std::int64_t kFrameHeader = 24;
inline constexpr std::int64_t kFrame = kFrameHeader + kPageSize;

using Bytes = std::span<const unsigned char>;

// Running checksum; stored big-endian.
struct Sum {
  std::uint32_t first = 0, second = 0;
  bool operator==(const Sum&) const = default;
};
struct Salt {
  std::uint32_t first = 0, second = 0;
  bool operator==(const Salt&) const = default;
};

std::uint32_t load_big(const unsigned char* at);
inline Sum load_sum(const unsigned char* at) { return {load_big(at), load_big(at + 4)}; }
inline Salt load_salt(const unsigned char* at) { return {load_big(at), load_big(at + 4)}; }

// Where frame `number` (from 1) begins.
inline std::int64_t frame_offset(std::int64_t number) { return kHeader + (number - 1) * kFrame; }
// The frame whose page has this place in the file; 0 when no page begins there.
std::int64_t frame_of_page(std::int64_t offset);
// Where the checksum before this frame's is stored: in the frame before it, or in the header of the log.
inline std::int64_t sum_before(std::int64_t number) { return number == 1 ? 24 : frame_offset(number - 1) + 16; }

// SQLite chains the sums, so that a frame can be checked with what is stored before it.
bool is_whole_frame(Sum before, Bytes frame_header, Bytes page);

struct Header {
  Salt salt;
};
// Nothing when it is damaged, not a log, or one with other pages than ours.
std::optional<Header> read_header(Bytes bytes);

// What the index says of the last commit. It is written after the commit's sync and never synced itself: after a kill
// it is exact, after a power cut it is older or unreadable, but it never tells of a commit that was not durable.
struct LastCommit {
  std::int64_t frame = 0;
  Salt salt;
};
// Nothing when its two copies differ or are damaged.
std::optional<LastCommit> read_index(Bytes bytes);
inline constexpr std::int64_t kIndexHeader = 96;

}  // namespace lathe::db::log_format
