// ChunkShelf: chunks on the disk of this node, for all runs of its user, so that what one run has read comes from the
// disk in the next (docs/formats/chunk-cache.md). A cache: every chunk is a plain file named by its SHA-256 and is
// hashed before it is used, so whoever writes there, is killed while writing or loses power harms nothing. It keeps
// below its limit by removing what was used least recently; processes share a folder without knowing of each other.
// Thread-safe. Whatever fails here only costs time.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/error.h"

namespace lathe::mount {

class ChunkShelf {
 public:
  // Made when absent. unsupported where the file system has no nameless files, io where others could look in.
  static base::Result<std::unique_ptr<ChunkShelf>> open(const std::filesystem::path& folder, std::uint64_t limit_bytes);
  // $XDG_CACHE_HOME/lathe/chunks or ~/.cache/lathe/chunks; empty where there is neither.
  static std::filesystem::path default_folder();

  // The chunk, if it is here and whole; one that is damaged is removed.
  std::optional<std::string> find(const base::Digest& digest, std::uint64_t size);
  // `bytes` must be those of the digest.
  void put(const base::Digest& digest, std::string_view bytes);
  // As the disk has it now.
  std::uint64_t bytes() const;

 private:
  // One of the folders that the chunks are spread over by the first digit of their names.
  struct Row {
    std::mutex mutex;
    bool counted = false;
    std::uint64_t bytes = 0;  // at the last count, and what we have added since
    std::uint64_t added = 0;
  };
  static constexpr std::size_t kRows = 16;

  ChunkShelf(std::filesystem::path folder, std::uint64_t limit_bytes);
  std::filesystem::path path_of(const base::Digest& digest) const;
  bool make_room(std::size_t row, std::uint64_t size);
  std::uint64_t count(std::size_t row) const;
  std::uint64_t remove_oldest(std::size_t row, std::uint64_t most) const;
  bool disk_is_nearly_full() const;

  const std::filesystem::path folder_;
  const std::uint64_t row_limit_;
  std::array<Row, kRows> rows_;
};

}  // namespace lathe::mount
