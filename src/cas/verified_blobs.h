// VerifiedBlobs: which files this process has hashed and found right, so that each is hashed once and not at every
// open. Bounded, least recently used first out. Thread-safe.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>

#include "base/digest.h"

namespace lathe::cas {

// A file as it was hashed. An edit in place changes the time or the size; a replacement changes the inode. The change
// time is left out: linking a blob into a run changes it.
struct FileIdentity {
  std::uint64_t inode = 0, size = 0;
  std::int64_t modified_ns = 0;
  bool operator==(const FileIdentity&) const = default;

  static FileIdentity of(const struct stat& st) {
    return {st.st_ino, static_cast<std::uint64_t>(st.st_size), st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec};
  }
};

class VerifiedBlobs {
 public:
  explicit VerifiedBlobs(std::size_t capacity) : capacity_(capacity) {}
  bool contains(const base::Digest& digest, const FileIdentity& identity);
  void insert(const base::Digest& digest, const FileIdentity& identity);
  // The store itself touched the file (a renewed lease): what was verified as `before` is now `after`.
  void renew(const base::Digest& digest, const FileIdentity& before, const FileIdentity& after);

 private:
  struct Entry {
    base::Digest digest;
    FileIdentity identity;
  };
  const std::size_t capacity_;
  std::mutex mutex_;
  std::list<Entry> recent_;  // most recently used first
  std::unordered_map<base::Digest, std::list<Entry>::iterator> index_;
};

}  // namespace lathe::cas
