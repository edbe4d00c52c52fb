#include "net/zstd_stream.h"

#include <zstd.h>

#include "base/check.h"

namespace lathe::net {
namespace {

constexpr int kLevel = 1;  // about as fast as a good network; higher ones gain little on code, logs and weights
constexpr std::size_t kPiece = 64 * 1024;

}  // namespace

struct ZstdEncoder::State {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ~State() { ZSTD_freeCCtx(context); }
};

ZstdEncoder::ZstdEncoder() : state_(std::make_unique<State>()) {
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_compressionLevel, kLevel);
}
ZstdEncoder::~ZstdEncoder() = default;

void ZstdEncoder::put(std::string_view bytes, After after, std::string& out) {
  const auto mode = after == After::end ? ZSTD_e_end : after == After::flush ? ZSTD_e_flush : ZSTD_e_continue;
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  for (;;) {
    const auto before = out.size();
    out.resize(before + ZSTD_CStreamOutSize());
    ZSTD_outBuffer output{out.data() + before, out.size() - before, 0};
    const auto left = ZSTD_compressStream2(state_->context, &output, &input, mode);
    LATHE_CHECK(!ZSTD_isError(left), "zstd: {}", ZSTD_getErrorName(left));
    out.resize(before + output.pos);
    if (mode == ZSTD_e_continue ? input.pos == input.size : left == 0) return;
  }
}

bool is_worth_packing(std::string_view beginning) {
  beginning = beginning.substr(0, kPiece);
  std::string packed(ZSTD_compressBound(beginning.size()), '\0');
  const auto size = ZSTD_compress(packed.data(), packed.size(), beginning.data(), beginning.size(), kLevel);
  return !ZSTD_isError(size) && size < beginning.size() - beginning.size() / 10;
}

std::optional<std::string> pack_text(std::string_view text) {
  if (text.size() < kWorthPacking || !is_worth_packing(text)) return std::nullopt;
  std::string packed;
  ZstdEncoder().put(text, ZstdEncoder::After::end, packed);
  if (packed.size() >= text.size()) return std::nullopt;
  return packed;
}

struct ZstdDecoder::State {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  std::string output = std::string(kPiece, '\0');
  bool in_frame = false;
  ~State() { ZSTD_freeDCtx(context); }
};

ZstdDecoder::ZstdDecoder() : state_(std::make_unique<State>()) {
  ZSTD_DCtx_setParameter(state_->context, ZSTD_d_windowLogMax, kZstdWindowLog);
}
ZstdDecoder::~ZstdDecoder() = default;
bool ZstdDecoder::is_complete() const { return !state_->in_frame; }

base::Result<void> ZstdDecoder::put(std::string_view packed,
                                    const std::function<base::Result<void>(std::string_view)>& take) {
  ZSTD_inBuffer input{packed.data(), packed.size(), 0};
  for (bool full = false; input.pos < input.size || full;) {
    ZSTD_outBuffer output{state_->output.data(), state_->output.size(), 0};
    const auto rest = ZSTD_decompressStream(state_->context, &output, &input);
    if (ZSTD_isError(rest))
      return base::fail(base::Code::corrupt, "a zstd body is damaged: {}", ZSTD_getErrorName(rest));
    state_->in_frame = rest != 0;
    full = state_->in_frame && output.pos == output.size;  // the decoder may hold back what did not fit
    if (output.pos > 0) LATHE_TRY_VOID(take(std::string_view(state_->output).substr(0, output.pos)));
  }
  return {};
}

}  // namespace lathe::net
