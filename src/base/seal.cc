#include "base/seal.h"

#include <openssl/evp.h>
#include <string.h>

#include <memory>

#include "base/check.h"
#include "base/strings.h"

namespace lathe::base {
namespace {

constexpr std::size_t kNonceBytes = 12, kTagBytes = 16;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

std::string seal(std::string_view key, std::string_view context, std::string_view text) {
  LATHE_CHECK(key.size() == kSealKeyBytes, "a key of {} bytes", key.size());
  const std::string nonce = random_bytes(kNonceBytes);
  std::string body(text.size(), '\0'), tag(kTagBytes, '\0');
  Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int n = 0;
  const bool done =
      cipher && EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key), bytes_of(nonce)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &n, bytes_of(context), static_cast<int>(context.size())) == 1 &&
      EVP_EncryptUpdate(cipher.get(), bytes_of(body), &n, bytes_of(text), static_cast<int>(text.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), bytes_of(body) + n, &n) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) == 1;
  LATHE_CHECK(done, "AES-256-GCM failed");
  return nonce + body + tag;
}

Result<std::string> unseal(std::string_view key, std::string_view context, std::string_view sealed) {
  LATHE_CHECK(key.size() == kSealKeyBytes, "a key of {} bytes", key.size());
  if (sealed.size() < kNonceBytes + kTagBytes) return fail(Code::corrupt, "a sealed text is cut");
  const std::string_view nonce = sealed.substr(0, kNonceBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes));
  const std::string_view body = sealed.substr(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes);
  std::string text(body.size(), '\0');
  Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int n = 0;
  const bool done =
      cipher && EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key), bytes_of(nonce)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &n, bytes_of(context), static_cast<int>(context.size())) == 1 &&
      EVP_DecryptUpdate(cipher.get(), bytes_of(text), &n, bytes_of(body), static_cast<int>(body.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), bytes_of(text) + n, &n) == 1;
  if (done) return text;
  wipe(text);
  return fail(Code::corrupt, "a sealed text cannot be opened: it was changed, or sealed with another key");
}

void wipe(std::string& secret) {
  ::explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

}  // namespace lathe::base
