#include "net/packed_writer.h"

#include <unistd.h>

#include <cerrno>

#include "base/strings.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

constexpr std::size_t kPiece = 256 * 1024;

// "zstd" among the codings, and not with q=0.
bool accepts_zstd(const Request& request) {
  const auto field = base::to_lower(request.header("accept-encoding").value_or(""));
  for (std::string_view rest = field; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const auto item = rest.substr(0, comma);
    const auto semicolon = std::min(item.find(';'), item.size());
    const auto weight = base::trim(item.substr(semicolon));
    if (base::trim(item.substr(0, semicolon)) == "zstd")
      return weight.find_first_of("123456789") != weight.npos || weight.find("q=") == weight.npos;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

}  // namespace

rt::Task<void> PackedWriter::write(std::string_view bytes) {
  packed_.clear();
  encoder_.put(bytes, ZstdEncoder::After::flush, packed_);
  co_await out_.write(packed_);
}

rt::Task<void> PackedWriter::write_file(FileBody piece) {
  std::string buffer(std::min<std::uint64_t>(kPiece, piece.length), '\0');
  for (std::uint64_t sent = 0; sent < piece.length;) {
    const auto want = std::min<std::uint64_t>(buffer.size(), piece.length - sent);
    const auto count = ::pread(piece.fd, buffer.data(), want, static_cast<off_t>(piece.offset + sent));
    if (count < 0) throw base::errno_error(errno, "reading a file to send");
    if (count == 0) throw Error(Code::io, "a file became shorter while it was sent");
    co_await write(std::string_view(buffer).substr(0, static_cast<std::size_t>(count)));
    sent += static_cast<std::size_t>(count);
  }
}

rt::Task<void> PackedWriter::end() {
  packed_.clear();
  encoder_.put({}, ZstdEncoder::After::end, packed_);
  co_await out_.write(packed_);
}

OwnedFile::~OwnedFile() {
  if (fd_ >= 0) ::close(fd_);
}

namespace {

struct Slot {
  explicit Slot(PackingSlots& all) : slots(&all) { ++slots->used; }
  Slot(Slot&& other) noexcept : slots(std::exchange(other.slots, nullptr)) {}
  ~Slot() {
    if (slots) --slots->used;
  }
  PackingSlots* slots;
};

StreamBody packed_stream(StreamBody inner, Slot slot) {
  return [inner = std::move(inner), slot = std::move(slot)](BodyWriter& out) mutable -> rt::Task<void> {
    PackedWriter packed(out);
    co_await inner(packed);
    co_await packed.end();
  };
}

StreamBody file_stream(FileBody file) {
  return [file, owned = OwnedFile(file.fd)](BodyWriter& out) -> rt::Task<void> { co_await out.write_file(file); };
}

}  // namespace

void pack_response(const Request& request, Response& response, PackingSlots& slots) {
  // On this machine the work costs more than the bytes.
  if (!response.may_be_packed || response.status != 200 || request.is_local || request.method != "GET") return;
  response.headers["vary"] = "accept-encoding";
  if (!accepts_zstd(request)) return;
  if (auto* text = std::get_if<std::string>(&response.body)) {
    auto packed = pack_text(*text);
    if (!packed) return;
    response.body = std::move(*packed);
  } else {
    if (slots.used >= PackingSlots::kMost) return;
    const auto* file = std::get_if<FileBody>(&response.body);
    if (file && file->length < kWorthPacking) return;
    auto plain = file ? file_stream(*file) : std::move(std::get<StreamBody>(response.body));
    response.body = packed_stream(std::move(plain), Slot(slots));
  }
  response.headers["content-encoding"] = "zstd";
}

}  // namespace lathe::net
