// UrlPartial: what has arrived of a URL so far, in the store's folder of partial uploads, with the validator that says
// which content it belongs to. Kept when a transfer breaks off; the collector removes it when its lease is over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cas/disk_store.h"
#include "net/url_fetch.h"
#include "sys/file_system.h"

namespace lathe::server {

class UrlPartial {
 public:
  static base::Result<UrlPartial> open(cas::DiskStore& store, std::string_view url);

  std::uint64_t size() const { return size_; }
  const std::string& validator() const { return validator_; }
  bool can_resume() const { return size_ > 0 && !validator_.empty(); }
  // A body begins at head.offset: what lies behind it is dropped, and the validator is written down.
  base::Result<void> begin(const net::FetchHead& head);
  base::Result<void> append(std::string_view bytes);
  // Up to `size` bytes from `offset` on; 0 at the end.
  base::Result<std::size_t> read(std::uint64_t offset, char* buffer, std::size_t size) const;
  // Becomes a blob; the partial is gone then.
  base::Result<cas::BlobInfo> commit();
  void drop();

 private:
  UrlPartial(cas::DiskStore& store, std::string path, sys::File file);
  cas::DiskStore* store_;
  std::string path_, validator_;
  sys::File file_;
  std::uint64_t size_ = 0;
  bool resumed_ = false;  // not all of it was written by this object
};

}  // namespace lathe::server
