// The checksum that every page of the database file carries in its last 16 bytes, which SQLite leaves to us ("reserved
// bytes"): 8 bytes mark, 8 bytes hash of the rest of the page and its number. Pure functions, any thread.
//
// The hash: the page's 64-bit words go in turn into four lanes, each step `lane = rotate((lane ^ word) * odd
// constant)`; then the lanes go into one in the same way. Each step can be undone, so that damage inside of one word
// (a flipped bit, byte, or 8 bytes) changes the result for certain; anything wider stays unnoticed once in 2^64. It
// costs 0.3 us a page, a tenth of a table-driven CRC-64. It guards against disks, not against people: whoever can
// write the file can compute it. The number of the page is hashed with it: a page that was written to the wrong place
// is found, too. What no checksum inside of a page can see is a write that never arrived: the old page is whole. See
// db/integrity.h.
#pragma once

#include <cstdint>

namespace lathe::db {

inline constexpr int kPageSize = 4096;
inline constexpr int kPageTrailer = 16;

// Page numbers begin with 1. `page` has kPageSize bytes.
void seal_page(unsigned char* page, std::uint32_t number);
bool is_whole_page(const unsigned char* page, std::uint32_t number);
// The mark is there, whether the page is whole or not: it was sealed once.
bool has_page_mark(const unsigned char* page);

}  // namespace lathe::db
