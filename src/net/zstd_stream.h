// zstd as a stream, both ways, with bounded memory: what clients and answers are packed with on the way through a
// network (request bodies that come in are ZstdBody's). Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::net {

inline constexpr int kZstdWindowLog = 23;           // 8 MiB: the most that a decoder here keeps
inline constexpr std::size_t kWorthPacking = 1024;  // smaller bodies travel as they are

class ZstdEncoder {
 public:
  ZstdEncoder();
  ~ZstdEncoder();
  enum class After { more, flush, end };  // flush: the other side can decode everything so far
  // The packed bytes are appended to `out`.
  void put(std::string_view bytes, After after, std::string& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The whole text packed, or nothing when it does not become clearly smaller; a long one is judged by its beginning.
std::optional<std::string> pack_text(std::string_view text);
// Whether bytes that begin like this are worth the work.
bool is_worth_packing(std::string_view beginning);

class ZstdDecoder {
 public:
  ZstdDecoder();
  ~ZstdDecoder();
  // Error(corrupt) for damage and for a window over the limit.
  base::Result<void> put(std::string_view packed, const std::function<base::Result<void>(std::string_view)>& take);
  bool is_complete() const;  // no frame is unfinished

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::net
