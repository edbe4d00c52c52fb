// Whether bytes are a whole gzip file (RFC 1952): every member can be inflated and has the length and checksum that it
// says. What is inflated is thrown away piece by piece. Blocking; any thread.
#pragma once

#include <cstddef>
#include <functional>

#include "base/error.h"

namespace lathe::net {

// Puts the next bytes into the buffer and says how many; 0 at the end.
using ByteReader = std::function<base::Result<std::size_t>(char* buffer, std::size_t size)>;

// corrupt, with what is wrong, for all that gzip would refuse; what follows the last member is passed over, as gzip
// does. Errors of the reader come back as they are.
base::Result<void> check_gzip(const ByteReader& read);

}  // namespace lathe::net
