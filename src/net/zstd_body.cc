#include "net/zstd_body.h"

#include <zstd.h>

#include "net/zstd_stream.h"

namespace lathe::net {
namespace {

using base::Code;
using base::Error;

constexpr std::size_t kPiece = 64 * 1024;

}  // namespace

struct ZstdBody::Stream {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ZSTD_inBuffer input{};
  std::string output = std::string(kPiece, '\0');
  bool in_frame = false;  // a frame was begun and is not complete
  ~Stream() { ZSTD_freeDCtx(context); }
};

ZstdBody::ZstdBody(BodyReader& compressed, std::uint64_t limit)
    : compressed_(compressed), left_(limit), stream_(std::make_unique<Stream>()) {
  ZSTD_DCtx_setParameter(stream_->context, ZSTD_d_windowLogMax, kZstdWindowLog);
}
ZstdBody::~ZstdBody() = default;

rt::Task<std::string_view> ZstdBody::read() {
  for (;;) {
    ZSTD_outBuffer output{stream_->output.data(), stream_->output.size(), 0};
    // Also with no input left: the decoder may hold back what did not fit into the last piece.
    if (stream_->input.pos < stream_->input.size || stream_->in_frame) {
      const std::size_t rest = ZSTD_decompressStream(stream_->context, &output, &stream_->input);
      if (ZSTD_isError(rest))
        throw Error(Code::invalid, std::string("the zstd body is damaged: ") + ZSTD_getErrorName(rest));
      stream_->in_frame = rest != 0;
    }
    if (output.pos > left_) throw Error(Code::too_large, "the decoded body is larger than this route allows");
    left_ -= output.pos;
    if (output.pos > 0) co_return std::string_view(stream_->output).substr(0, output.pos);
    if (stream_->input.pos < stream_->input.size) continue;
    const auto piece = co_await compressed_.read();
    if (piece.empty() && stream_->in_frame) throw Error(Code::invalid, "the zstd body ends in the middle of a frame");
    if (piece.empty()) co_return std::string_view();
    stream_->input = {piece.data(), piece.size(), 0};
  }
}

}  // namespace lathe::net
