// The answer of a server that may be anything: cut into pieces differently, it must mean the same.
#include "net/response_parser.h"

namespace {

struct Outcome {
  bool ok = true, done = false;
  int status = 0;
  std::string body;
  bool operator==(const Outcome&) const = default;
};

Outcome parse(std::string_view input, std::size_t piece_bytes) {
  lathe::net::ResponseParser parser(false);
  Outcome out;
  while (!input.empty() && !parser.is_done()) {
    std::string_view chunk = input.substr(0, piece_bytes), piece;
    auto used = parser.put(chunk, piece);
    if (!used) return {.ok = false, .done = false, .status = 0, .body = {}};
    out.body += piece;
    if (*used == 0 && piece.empty()) break;
    input.remove_prefix(*used);
  }
  out.done = parser.is_done();
  out.status = parser.has_head() ? parser.status() : 0;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (parse(input, size + 1) != parse(input, 1)) __builtin_trap();
  return 0;
}
