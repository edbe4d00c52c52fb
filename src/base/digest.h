// SHA-256 digests: the names of blobs. Digest is a 32-byte value; Sha256 hashes a stream of bytes.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::base {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  auto operator<=>(const Digest&) const = default;
  // 64 lower-case hex characters.
  std::string hex() const;
  // Accepts exactly what hex() gives; anything else is `invalid`.
  static Result<Digest> parse(std::string_view hex);
};

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(const void* data, std::size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }
  // Call once.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest sha256(std::string_view bytes);

}  // namespace lathe::base

template <>
struct std::hash<lathe::base::Digest> {
  std::size_t operator()(const lathe::base::Digest& digest) const noexcept {
    std::size_t value = 0;
    __builtin_memcpy(&value, digest.bytes.data(), sizeof value);
    return value;
  }
};
