// Where the files of a disk store lie (docs/formats/store.md). Values only; no I/O.
#pragma once

#include <string>

#include "base/digest.h"

namespace lathe::cas {

class StoreLayout {
 public:
  explicit StoreLayout(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string blobs() const { return root_ + "/blobs"; }
  std::string temporary() const { return root_ + "/tmp"; }
  std::string partial() const { return root_ + "/partial"; }
  std::string damaged() const { return root_ + "/damaged"; }
  std::string staging() const { return root_ + "/staging"; }
  std::string clock() const { return root_ + "/clock"; }
  std::string gc_lock() const { return root_ + "/gc.lock"; }

  // One of 256, so that no folder grows without bound.
  std::string folder(const base::Digest& digest) const { return blobs() + "/" + digest.hex().substr(0, 2); }
  std::string blob(const base::Digest& digest) const { return blob(digest.hex()); }
  std::string chunks(const base::Digest& digest) const { return blob(digest) + ".chunks"; }
  std::string partial(const base::Digest& digest) const { return partial() + "/" + digest.hex(); }
  std::string damaged(const base::Digest& digest) const { return damaged() + "/" + digest.hex(); }
  std::string staging(std::string_view id) const { return fmt::format("{}/{}", staging(), id); }

 private:
  std::string blob(const std::string& hex) const { return blobs() + "/" + hex.substr(0, 2) + "/" + hex.substr(2); }

  std::string root_;
};

}  // namespace lathe::cas
