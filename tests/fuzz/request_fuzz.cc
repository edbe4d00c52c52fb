// The bytes of a client that may be anybody: cut into pieces differently, head, target and body must mean the same.
#include <map>

#include "net/http_server.h"
#include "net/http_session_parser.h"
#include "net/status_error.h"
#include "net/target.h"

namespace {

using namespace lathe::net;

constexpr std::size_t kRoom = 100;  // of one call for a body: less than most bodies have

struct Outcome {
  bool refused = false, done = false;
  std::string method, body;
  std::map<std::string, std::string> headers;
  std::vector<std::string> segments;
  std::size_t used = 0;
  bool operator==(const Outcome&) const = default;
};

// What a session does, without its socket.
class Reader {
 public:
  Reader(std::string_view input, std::size_t piece) : rest_(input), piece_(piece) {}

  Outcome read() {
    try {
      while (!parser_.has_head() && more()) drop(parser_.put_head(buffer_));
      if (parser_.has_head()) note_head();
      while (parser_.has_head() && !parser_.is_done()) {
        const std::size_t used = parser_.put_body(buffer_, out_.body, kRoom);
        drop(used);
        if (used == 0 && !more()) break;
      }
    } catch (const StatusError&) {
      Outcome refused;
      refused.refused = true;
      return refused;
    }
    out_.done = parser_.is_done();
    return out_;
  }

 private:
  bool more() {
    buffer_ += rest_.substr(0, piece_);
    const bool any = !rest_.empty();
    rest_.remove_prefix(std::min(piece_, rest_.size()));
    return any;
  }
  void drop(std::size_t used) {
    buffer_.erase(0, used);
    out_.used += used;
  }
  void note_head() {
    out_.method = parser_.head().method;
    for (const auto& [name, value] : parser_.head().headers) out_.headers.emplace(name, value);
    out_.segments = parse_target(parser_.head().target).segments;
  }

  const HttpLimits limits_;
  RequestParser parser_{limits_};
  std::string_view rest_;
  const std::size_t piece_;
  std::string buffer_;
  Outcome out_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Outcome whole = Reader(input, size + 1).read(), cut = Reader(input, 1).read();
  // A request that never ends may be refused early or late; one that ends means one thing.
  if ((whole.done || cut.done) && whole != cut) __builtin_trap();
  return 0;
}
