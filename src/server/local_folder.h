// LocalFolder: a folder of this machine as a datastore. The kernel keeps every path below the site's root (openat2): no
// "..", no symbolic link. Links, devices and names that are no plain text are not seen. Blocking: on the file pool.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cas/blob_store.h"
#include "sys/file_system.h"

namespace lathe::server {

struct LocalFile {
  std::string path;
  std::uint64_t size = 0;
  base::UtcTime modified;
};

class LocalFolder {
 public:
  // Refuses (forbidden) a folder that does not lie below one of the roots, and one that is not there (not_found).
  static base::Result<LocalFolder> open(const std::filesystem::path& folder,
                                        std::span<const std::filesystem::path> roots);

  // In the order of their whole paths, from behind `after`, only those that begin with `prefix`; at most `limit`. Reads
  // only the folders that can hold them.
  base::Result<std::vector<LocalFile>> list(std::string_view prefix, std::string_view after, std::size_t limit) const;
  // A regular file, open for reading.
  base::Result<cas::BlobFile> open_file(const std::string& path) const;
  // The bytes of a blob under this name: all of them or none. False when it is there and `overwrite` is not wished.
  base::Result<bool> write_file(const std::string& path, const cas::BlobFile& blob, bool overwrite) const;

 private:
  explicit LocalFolder(sys::File folder) : folder_(std::move(folder)) {}
  sys::File folder_;
};

}  // namespace lathe::server
