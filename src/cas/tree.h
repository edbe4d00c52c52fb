// Tree: the manifest of a folder. Sorted by path; canonical text form, so that equal folders have equal digests.
// Entries are files (digest, size, exec bit) and symbolic links that stay inside. Paths are relative, '/'-separated,
// valid for every consumer: no empty, "." or ".." part, no NUL, at most 4096 bytes and 256 parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"

namespace lathe::cas {

// A manifest is decoded in memory, and it may come from anybody who can upload: these bound what it costs.
inline constexpr std::uint64_t kMaxTreeBytes = 256u << 20;
inline constexpr std::size_t kMaxTreeEntries = 2'000'000;
inline constexpr std::size_t kMaxPathParts = 256;

struct TreeEntry {
  std::string path;
  base::Digest digest;  // of a file
  std::uint64_t size = 0;
  bool executable = false;
  std::string link_target;  // not empty: a symbolic link
  bool operator==(const TreeEntry&) const = default;
};

struct Tree {
  std::vector<TreeEntry> entries;
  std::uint64_t total_bytes() const;
  bool operator==(const Tree&) const = default;
};

// The manifest's bytes (docs/formats/tree.md); itself stored as a blob.
std::string encode_tree(const Tree& tree);
// Error(corrupt) for another spelling than the one, Error(invalid) for an unsafe path or link, Error(too_large) past a
// limit. Time and memory grow with the size of the manifest, whatever it says.
base::Result<Tree> decode_tree(std::string_view bytes);
// Whether a relative path is safe to use as an entry's name.
base::Result<void> check_tree_path(std::string_view path);

}  // namespace lathe::cas
