#include "base/digest.h"

// The low-level interface, though deprecated, costs no allocation and no provider lookup per hash: for many small
// files that is half of the time.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "base/strings.h"

namespace lathe::base {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, std::size_t size) { SHA256_Update(&state_->context, data, size); }

Digest Sha256::finish() {
  Digest digest;
  SHA256_Final(digest.bytes.data(), &state_->context);
  return digest;
}

std::string Digest::hex() const { return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); }

Result<Digest> Digest::parse(std::string_view hex) {
  auto raw = hex.size() == 64 ? from_hex(hex) : std::nullopt;
  if (!raw) return fail(Code::invalid, "'{}' is not a SHA-256 digest (64 lower-case hex digits)", printable(hex, 80));
  Digest digest;
  std::copy(raw->begin(), raw->end(), reinterpret_cast<char*>(digest.bytes.data()));
  return digest;
}

Digest sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

}  // namespace lathe::base
