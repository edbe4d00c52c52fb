// Sealing: AES-256-GCM. What is sealed can be read only with the key and only in the place (`context`) that it was
// sealed for; a changed byte is noticed. Keys are 32 bytes. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace lathe::base {

inline constexpr std::size_t kSealKeyBytes = 32;

// nonce (12 random bytes), the encrypted text, tag (16 bytes).
std::string seal(std::string_view key, std::string_view context, std::string_view text);
// corrupt: another key, another context, or changed bytes.
Result<std::string> unseal(std::string_view key, std::string_view context, std::string_view sealed);

// Overwrites the bytes so that they do not stay in memory.
void wipe(std::string& secret);

}  // namespace lathe::base
