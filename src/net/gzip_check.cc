#include "net/gzip_check.h"

#include <algorithm>
#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::net {
namespace {

namespace zlib = boost::beast::zlib;
using base::Code;

constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kAhead = 8;
constexpr unsigned kHeaderCrc = 2, kExtra = 4, kName = 8, kComment = 16, kReserved = 0xE0;

class GzipReader {
 public:
  explicit GzipReader(const ByteReader& read) : read_(read), input_(kPiece), output_(kPiece) {}

  base::Result<void> check() {
    LATHE_TRY(bool has_member, skip_header());
    if (!has_member) return base::fail(Code::corrupt, "its bytes are not gzip");
    while (has_member) {
      LATHE_TRY_VOID(inflate());
      LATHE_TRY(has_member, skip_header());
    }
    return {};
  }

 private:
  static std::unexpected<base::Error> cut() { return base::fail(Code::corrupt, "it ends in the middle"); }

  base::Result<bool> fill() {
    LATHE_TRY(left_, read_(input_.data(), input_.size()));
    at_ = input_.data();
    return left_ > 0;
  }
  // Nothing at the end of the file.
  base::Result<std::optional<unsigned>> next() {
    if (!given_back_.empty()) {
      const auto byte = static_cast<unsigned char>(given_back_[0]);
      given_back_.erase(0, 1);
      return byte;
    }
    if (left_ == 0) {
      LATHE_TRY(bool more, fill());
      if (!more) return std::nullopt;
    }
    --left_;
    return static_cast<unsigned char>(*at_++);
  }
  base::Result<unsigned> need() {
    LATHE_TRY(auto byte, next());
    if (!byte) return cut();
    return *byte;
  }
  base::Result<std::uint32_t> number(int bytes) {
    std::uint32_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      LATHE_TRY(unsigned byte, need());
      value |= byte << (8 * i);
    }
    return value;
  }
  base::Result<void> skip_text() {
    for (unsigned byte = 1; byte != 0;) {
      LATHE_TRY(byte, need());
    }
    return {};
  }

  // False when no member begins here.
  base::Result<bool> skip_header() {
    LATHE_TRY(auto first, next());
    if (!first || *first != 0x1f) return false;
    LATHE_TRY(auto second, next());
    if (!second || *second != 0x8b) return false;
    LATHE_TRY(unsigned method, need());
    LATHE_TRY(unsigned flags, need());
    if (method != 8 || (flags & kReserved) != 0) return base::fail(Code::corrupt, "its header is not that of gzip");
    LATHE_TRY_VOID(number(4));  // the time
    LATHE_TRY_VOID(number(2));  // how hard it was tried, and on what machine
    if (flags & kExtra) {
      LATHE_TRY(std::uint32_t length, number(2));
      for (; length > 0; --length) LATHE_TRY_VOID(need());
    }
    if (flags & kName) LATHE_TRY_VOID(skip_text());
    if (flags & kComment) LATHE_TRY_VOID(skip_text());
    if (flags & kHeaderCrc) LATHE_TRY_VOID(number(2));
    return true;
  }

  base::Result<void> inflate() {
    zlib::inflate_stream stream;
    stream.reset(15);
    boost::crc_32_type crc;
    std::uint64_t size = 0;
    std::string taken;  // the last bytes that the stream took
    for (bool ended = false; !ended;) {
      if (left_ == 0) {
        LATHE_TRY(bool more, fill());
        if (!more) return cut();
      }
      zlib::z_params step;
      step.next_in = at_;
      step.avail_in = left_;
      step.next_out = output_.data();
      step.avail_out = output_.size();
      boost::system::error_code failed;
      stream.write(step, zlib::Flush::none, failed);
      ended = failed == zlib::error::end_of_stream;
      if (failed && !ended && failed != zlib::error::need_buffers)
        return base::fail(Code::corrupt, "its compressed bytes are damaged");
      const std::size_t used = left_ - step.avail_in;
      taken.append(at_ + used - std::min(used, kAhead), std::min(used, kAhead));
      if (taken.size() > kAhead) taken.erase(0, taken.size() - kAhead);
      at_ += used;
      left_ = step.avail_in;
      // It looks ahead: whole bytes behind its end, whose bits it still holds, are the trailer's.
      if (ended) given_back_ = taken.substr(taken.size() - (static_cast<unsigned>(step.data_type) & 63) / 8);
      const std::size_t made = output_.size() - step.avail_out;
      crc.process_bytes(output_.data(), made);
      size += made;
    }
    LATHE_TRY(const std::uint32_t said_crc, number(4));
    LATHE_TRY(const std::uint32_t said_size, number(4));
    if (said_crc != crc.checksum() || said_size != static_cast<std::uint32_t>(size))
      return base::fail(Code::corrupt, "its checksum does not fit its bytes");
    return {};
  }

  const ByteReader& read_;
  std::vector<char> input_, output_;
  std::string given_back_;  // before what is left of the input; at most as long as a trailer
  const char* at_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace

base::Result<void> check_gzip(const ByteReader& read) { return GzipReader(read).check(); }

}  // namespace lathe::net
