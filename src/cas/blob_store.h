// BlobStore: bytes named by their SHA-256. A stored blob is a plain read-only file <root>/blobs/ab/cdef…, so that it
// can be linked. Thread-safe. Durable by batch: a Batch stages blobs, commit() makes all of them durable and visible;
// nothing may name a blob before its commit() has returned.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"

namespace lathe::cas {

struct BlobInfo {
  base::Digest digest;
  std::uint64_t size = 0;
};

// An open blob; reads are positioned. Owns its descriptor.
class BlobFile {
 public:
  BlobFile(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  BlobFile(BlobFile&& other) noexcept;
  BlobFile& operator=(BlobFile&&) = delete;
  ~BlobFile();
  int fd() const { return fd_; }
  int release();  // the caller closes it
  std::uint64_t size() const { return size_; }

 private:
  int fd_;
  std::uint64_t size_;
};

// Takes blobs one after another, each as a stream: begin → write… → finish. `expected` makes a mismatch Error(corrupt).
// After an error the sink takes no more.
class BlobSink {
 public:
  virtual ~BlobSink() = default;
  virtual base::Result<void> begin(std::optional<base::Digest> expected) = 0;
  virtual base::Result<void> write(std::string_view bytes) = 0;
  virtual base::Result<BlobInfo> finish() = 0;
};

// How a file becomes a blob.
enum class Adopt {
  link,  // by a second name, without copying, where the kernel can
  copy,  // its bytes go into a new file: somebody may still write to it, or a sync of it may have failed
};

// Stages blobs; nothing is visible before commit(). Destroying it without commit() removes what was staged. One thread
// at a time; several batches of one store may be used at once.
class Batch : public BlobSink {
 public:
  // Whole blob at once; hashed here.
  virtual base::Result<BlobInfo> put(std::string_view bytes) = 0;
  // A finished file that nobody will write again becomes the blob by a hard link (copied when linking is impossible).
  virtual base::Result<BlobInfo> adopt(int fd, const std::filesystem::path& path, Adopt how) = 0;
  base::Result<BlobInfo> adopt(int fd, const std::filesystem::path& path) { return adopt(fd, path, Adopt::link); }
  // All staged blobs are on disk when this returns: fsync each when few, one syncfs when many; rename; fsync of
  // folders.
  virtual base::Result<void> commit() = 0;
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;
  virtual std::unique_ptr<Batch> begin_batch() = 0;
  // Size when present. Renews the blob's lease, so that GC leaves it alone while its upload goes on.
  virtual std::optional<std::uint64_t> find(const base::Digest& digest) = 0;
  virtual base::Result<BlobFile> open(const base::Digest& digest) = 0;
  // The whole blob, verified; for manifests. too_large past `limit`.
  virtual base::Result<std::string> read(const base::Digest& digest, std::uint64_t limit) = 0;
};

}  // namespace lathe::cas
