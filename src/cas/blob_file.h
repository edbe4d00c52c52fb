// Reading blob files: hashing them and taking them in whole. Shared by the store, uploads and the snapshot.
#pragma once

#include <functional>

#include "base/digest.h"
#include "cas/blob_store.h"

namespace lathe::cas {

// The largest piece: fits the second-level cache together with the hash's own state.
inline constexpr std::size_t kPieceBytes = 256 * 1024;

// Asked by long work, piece by piece: false means that nobody wants its result any more.
using GoOn = std::function<bool()>;

// Passes `size` bytes of `fd`, from its start, through `take` in large pieces. Error(corrupt) when the file is shorter,
// Error(cancelled) when `go_on` said no.
base::Result<void> read_pieces(int fd, std::uint64_t size, const std::function<void(std::string_view)>& take,
                               const GoOn& go_on = {});
base::Result<base::Digest> hash_file(int fd, std::uint64_t size, const GoOn& go_on = {});

}  // namespace lathe::cas
